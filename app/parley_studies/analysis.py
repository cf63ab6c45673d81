"""Analyses of a study, for notebooks: its data as data frames, and the functions behind the report's figures.

    from parley_studies.analysis import load
    answers = load("mystudy").answers

`open_database` opens another database than that of the settings. `CHATBENCH_TABLE` is the table of accuracies that
ChatBench's paper printed.
"""

from types import ModuleType

from app import analysis
from app.analysis import *  # noqa: F403
from app.analysis.chatbench.published import TABLE as CHATBENCH_TABLE
from app.analysis.tidy_frames import open_existing_database as open_database
from app.analysis.tidy_frames import open_settings_database
from app.analysis.trial.results import trial_findings
from storage.registers.studies import Studies

__all__ = ["CHATBENCH_TABLE", "Studies", "open_database", "open_settings_database", "trial_findings"]
__all__ += [name for name, one in vars(analysis).items() if name[0] != "_" and not isinstance(one, ModuleType)]
