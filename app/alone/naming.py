"""Which model is meant: see app/naming.py, which simulated users need as well."""

from app.naming import asked as asked
