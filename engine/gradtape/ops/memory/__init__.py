"""Copies, conversions, storages, sizes of memory, and pickling."""
