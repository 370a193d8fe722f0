"""What capture knows of each engine: one folder an engine."""
