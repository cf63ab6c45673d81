"""Who may use the console: accounts, their passwords, logins, invitations, and what each has done."""
