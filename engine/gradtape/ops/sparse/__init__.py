"""COO tensors: making them, their layouts, their arithmetic."""
