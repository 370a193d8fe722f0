"""Autocast: ops choose the precision they compute in, while a thread asks."""
