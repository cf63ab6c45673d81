"""CodeMirror is one file that was built from a lock; nobody edits it by hand (docs/decisions/0014)."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "app/web/console"
SOURCE = CONSOLE / "codemirror"


def test_the_file_is_the_one_that_was_built() -> None:
    hash_, name = (SOURCE / "codemirror.sha256").read_text(encoding="utf-8").split()
    assert sha256((CONSOLE / "static" / name).read_bytes()).hexdigest() == hash_


def test_each_package_has_a_version_and_a_hash() -> None:
    wanted = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    packages = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    locked = {name.removeprefix("node_modules/"): package for name, package in packages.items() if name}
    assert {name: locked[name]["version"] for name in wanted} == wanted
    assert all("integrity" in package and "resolved" not in package for package in locked.values())
    assert {package.get("license") for package in locked.values()} == {"MIT"}
