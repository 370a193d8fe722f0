"""Sparse arrays: coordinates and values, where a tensor otherwise has an array."""
