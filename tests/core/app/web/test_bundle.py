"""The page's own scripts as one: what is served runs each module once, after those that it imports."""

import re

from app.web import bundle

MODULES = {path.stem for path in bundle.STATIC.glob("*.js")} - {"whole"}


def test_every_module_is_in_the_script_once_and_after_what_it_imports():
    served = bundle.script("page")
    order = re.findall(r"^const module_(\w+) = ", served, re.MULTILINE)
    assert sorted(order) == sorted(MODULES)
    for name in MODULES:
        source = (bundle.STATIC / f"{name}.js").read_text(encoding="utf-8")
        imported = [found[2] for found in bundle.IMPORT.finditer(source)]
        assert all(order.index(one) < order.index(name) for one in imported), name


def test_no_module_has_an_import_or_an_export_in_another_form():
    assert not re.search(r"^(import|export)\b|\bimport\(", bundle.script("page"), re.MULTILINE)
