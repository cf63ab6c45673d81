"""Publishing: deposits of exports, and the papers for data protection."""

from app.extension import CommandEntry, Extension, register

HERE = __name__
DEPOSIT = CommandEntry(f"{HERE}.deposit_command", "Deposit an export at the Hugging Face Hub or Zenodo.")
PRIVACY = CommandEntry(f"{HERE}.document", "Write a data-protection document and pictures of screens.")

register(Extension("publishing", commands={"Data and analysis": {"deposit": DEPOSIT}, "Operate": {"privacy": PRIVACY}}))
