"""What a tensor says of itself, its operators and subclasses; settings."""
