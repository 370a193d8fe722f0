"""A user's script, run and recorded: what stands behind `gradviz run` and `step`."""
