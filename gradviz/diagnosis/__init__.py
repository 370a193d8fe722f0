"""From the log of a run to findings: which line is to blame, why, and what to write."""
