"""What a declared op becomes: a function, a method, an in-place twin, a node type."""
