"""The functions behind ``nn.functional``, by subject."""
