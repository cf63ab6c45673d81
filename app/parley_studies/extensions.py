"""Names for extensions in packages with the entry points `parley.extensions`; and the lock on outcomes, which must be
asked before they are shown."""

from app.extension import CommandEntry, Extension, register
from app.use_cases.outcome_lock import locked_for, open_again, peek

__all__ = ["CommandEntry", "Extension", "locked_for", "open_again", "peek", "register"]
