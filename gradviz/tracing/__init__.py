"""A run line by line: what tensors each line of the program assigned."""
