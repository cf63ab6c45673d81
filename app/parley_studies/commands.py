"""What a module with a command is made of, which an extension names in its CommandEntry."""

from app.cli.commands import command

__all__ = ["command"]
