"""What the profiler's results are made of: events, tables, traces."""
