"""Names for a module with a command, which an extension names in its CommandEntry."""

from app.cli.commands import command

__all__ = ["command"]
