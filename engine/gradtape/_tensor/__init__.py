"""The tensor: memory, layout and autograd record, and what can be read off them."""
