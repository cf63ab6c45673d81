"""Analyses of a study, for notebooks: its data as data frames, and the functions behind the report's figures.

    from parley_studies.analysis import load
    answers = load("mystudy").answers

`open_database` opens another database than that of the settings. `CHATBENCH_TABLE` is the table of accuracies that
ChatBench's paper printed.
"""

from types import ModuleType

from app.extensions.analysis import public
from app.extensions.analysis.chatbench.published import TABLE as CHATBENCH_TABLE
from app.extensions.analysis.public import *  # noqa: F403
from app.extensions.analysis.tidy_frames import open_existing_database as open_database
from app.extensions.analysis.tidy_frames import open_settings_database
from storage.registers.studies import Studies

__all__ = ["CHATBENCH_TABLE", "Studies", "open_database", "open_settings_database"]
__all__ += [name for name, one in vars(public).items() if name[0] != "_" and not isinstance(one, ModuleType)]
