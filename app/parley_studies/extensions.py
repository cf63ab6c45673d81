"""What an extension is made of, for packages with the entry points `parley.extensions`."""

from app.extension import CommandEntry, Extension, register

__all__ = ["CommandEntry", "Extension", "register"]
