"""The training loop, as the public API of either engine shows it."""
