"""Gradients over the steps of a training, as tables and verdicts for every view."""
