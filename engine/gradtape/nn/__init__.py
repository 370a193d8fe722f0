"""Layers, losses and containers: ``torch.nn``."""
