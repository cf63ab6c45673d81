"""What processes of Parley import, and what each makes once, before they are forked: the participants' page and all
plugins.

The process that others are forked from imports it. It took most of their start, and a fifth of that was looking for
garbage.
"""

import gc
from importlib import import_module

gc.disable()
from app.cli.commands import MODULES  # noqa: E402

for module in (*MODULES, "app.web.server", "tests.fakes.asked_alone"):
    import_module(module)

from app.studies.loader import load_study  # noqa: E402
from app.web.participant import page  # noqa: E402

page.routes()
load_study("demo")
gc.freeze()
gc.enable()
