"""People's sessions in the forms of frameworks that evaluate models."""

from app.extension import CommandEntry, Extension, register

EVALS = CommandEntry(f"{__name__}.evals_command", "Write people's answers and chats for Inspect and tau2.")

register(Extension("evals", commands={"Data and analysis": {"evals": EVALS}}))
