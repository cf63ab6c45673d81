"""The command `parley show translations`, as somebody uses it who translates a study."""

from pathlib import Path

from app.studies.loader import load_study
from app.studies.translations import missing_translations
from app.studies.yaml_loader import parse_yaml
from tests.fakes import studies
from tests.fakes.commanding import parley


def test_what_the_command_lists_is_filled_in_and_then_nothing_is_missing(tmp_path: Path) -> None:
    path = studies.short(tmp_path)
    raw = parse_yaml(path.read_text(encoding="utf-8")).value | {"languages": ["en", "de"]}
    studies.write(tmp_path, raw)
    told = parley("check", path.name, "--bots", "0", folder=tmp_path)
    wanted = missing_translations(load_study(str(path)), "de")
    assert f"parley show translations {path.name} --language de" in told.stdout
    assert told.returncode == 0
    listed = parley("show", "translations", path.name, "--language", "de", folder=tmp_path)
    to_fill = parse_yaml(listed.stdout).value
    assert tuple(to_fill) == wanted
    assert set(to_fill.values()) == {""}
    (tmp_path / "short.de.yaml").write_text(listed.stdout.replace('""', "X").replace("''", "X"), encoding="utf-8")
    studies.write(tmp_path, raw | {"translations": {"de": "short.de.yaml"}})
    assert missing_translations(load_study(str(path)), "de") == ()
    done = parley("show", "translations", path.name, "-l", "de", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    unknown = parley("show", "translations", path.name, "-l", "tlh", folder=tmp_path)
    assert unknown.returncode == 2
    assert "allowed: ar, de, en" in unknown.stderr
