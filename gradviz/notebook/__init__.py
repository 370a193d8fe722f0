"""What gradviz does in IPython, beside showing: magics, cells that fail."""
