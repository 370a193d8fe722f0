"""Copies, conversions, storages: where values lie, and how they leave the engine."""
