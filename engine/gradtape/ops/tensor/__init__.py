"""What is asked of tensors and of the process: queries, settings, assertions."""
