"""Questions to snapshots, answered from their tables."""
