"""What tensors, modules and frames are called, and who holds them."""
