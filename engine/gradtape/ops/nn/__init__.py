"""Ops of networks: convolutions, pools, norms, losses, attention, recurrences."""
