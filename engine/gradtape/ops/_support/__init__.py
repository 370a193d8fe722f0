"""What the families share: arguments, out=, promotion, geometry, declaring."""
