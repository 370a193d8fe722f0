"""The memory tensors look into: its version, its writers, and who owns it."""
