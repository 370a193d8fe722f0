"""gradtape._custom_op: PyTorch's ops of an older kind; none is ever made here."""

from . import impl as impl
