"""What the class Module is made of, beside calling it and what it holds."""
