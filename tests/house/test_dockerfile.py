"""The Dockerfile's steps fit together; `docker build` itself is tried by whoever has Docker."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOINED = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
STEPS = [tuple(line.split(maxsplit=1)) for line in JOINED.splitlines() if line and not line.startswith("#")]


def test_the_container_does_not_run_as_root() -> None:
    words = [word for word, _ in STEPS]
    assert words.index("USER") < words.index("CMD")
    assert dict(STEPS)["USER"] not in ("root", "0")


def test_everything_that_is_copied_exists_and_reaches_the_builder() -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for word, text in STEPS:
        if word == "COPY" and "--from" not in text:
            for source in text.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in sent


def test_the_health_check_asks_the_port_that_is_exposed() -> None:
    steps = dict(STEPS)
    assert f":{steps['EXPOSE']}/healthz" in steps["HEALTHCHECK"]
    assert re.search(rf"PARLEY_PORT={steps['EXPOSE']}\b", steps["ENV"])
