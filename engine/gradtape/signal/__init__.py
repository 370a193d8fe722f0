"""Signal processing: gradtape.signal mirrors torch.signal."""

from . import windows as windows
