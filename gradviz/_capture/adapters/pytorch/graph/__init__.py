"""The graph of a finished computation of PyTorch, read once, from outside."""
