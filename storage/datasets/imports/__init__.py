"""Released files read: found, checked cell by cell, and recorded in the log."""
