"""People's sessions in the forms of frameworks that evaluate models."""

from app.extension import CommandEntry, Extension, register

EVALS = CommandEntry(f"{__name__}.evals_command", "Write people's answers and chats for Inspect.")

register(Extension("evals", commands={"Data and analysis": {"evals": EVALS}}))
