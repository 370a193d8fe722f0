"""Kernels over raw arrays that families share: products, windows, norms, sums."""
