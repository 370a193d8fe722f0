"""What depended on what in a run, in value as well as in gradient."""
