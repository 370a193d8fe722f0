"""What a run's results depend on, in value and in gradient."""
