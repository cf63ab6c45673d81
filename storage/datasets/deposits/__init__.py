"""The gate before the deposit of an export, and the record of deposits."""
