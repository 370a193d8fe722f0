"""Library modules that make one call, logged without the mode."""
