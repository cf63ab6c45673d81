"""Who is to be paid, and files of payments."""
