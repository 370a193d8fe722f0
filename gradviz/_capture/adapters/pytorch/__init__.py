"""Graphs and runs of real PyTorch, as records."""
