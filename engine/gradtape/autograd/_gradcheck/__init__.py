"""Derivatives against finite differences: the parts of gradcheck."""
