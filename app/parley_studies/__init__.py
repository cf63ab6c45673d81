"""Parley's public names under one importable name: `from parley_studies.analysis import load`.

`analysis` has data frames and figures, for notebooks. The other modules have what a package needs that extends Parley,
one for each entry-point group: `steps`, `backends`, `problems`, `methods`, `annotators` and `users`. All of it is
defined in Parley's own packages, whose names are general: `app`, `experiments`, `storage` and `problems`. A file of
such a name in a notebook's folder comes first on Python's path, so they are imported here, from where Parley is.
"""

import sys
from importlib import import_module
from pathlib import Path

PACKAGES = ("problems", "experiments", "storage", "app")
# The folder with Parley's packages: site-packages, or the repository if it is installed in place.
HOME = next(folder for folder in Path(__file__).parents if (folder / "experiments" / "__init__.py").is_file())


def _import_own() -> None:
    """Import Parley's packages; raises ImportError if another module of such a name was imported before."""
    sys.path.insert(0, str(HOME))
    try:
        for name in PACKAGES:
            file = import_module(name).__file__
            if file is None or not Path(file).parent.samefile(HOME / name):
                raise ImportError(
                    f"{file or name} was imported as {name!r}, and Parley has a package of that name. Rename the file "
                    "and restart Python; in a notebook, the kernel.",
                    name=name,
                    path=file,
                )
    finally:
        sys.path.remove(str(HOME))


_import_own()
