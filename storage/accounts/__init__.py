"""The console's accounts: passwords, logins, invitations, and the audit log."""
