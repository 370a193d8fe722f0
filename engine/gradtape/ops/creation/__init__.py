"""New tensors: from data, filled, random, windows."""
