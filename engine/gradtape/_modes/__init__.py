"""What a thread has switched on: gradients, inference, modes, the pass it runs."""
