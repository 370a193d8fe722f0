"""Reading and writing by subscripts, indices and masks."""
