"""What was found, for other programs, and which of it was known before."""
