"""Ops that reduce or scan dimensions: sums, extremes, norms, sorting."""
