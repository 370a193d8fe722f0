"""Views: tensors that look into the memory of others."""
