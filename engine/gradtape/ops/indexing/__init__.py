"""Reading and writing by index: slices, masks, gather and scatter."""
