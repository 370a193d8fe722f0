"""Ops that put elements in other places: cat, flip, pad, tril, meshgrid."""
