"""What nodes keep of tensors: slots, the user's hooks, and checks of values."""
