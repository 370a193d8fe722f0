"""Why something is as it is: the chain of causes, back to the line that decided."""
