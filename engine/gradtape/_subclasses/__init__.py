"""gradtape._subclasses: out of reach, see docs/out-of-reach.md."""

from . import fake_tensor as fake_tensor
from .fake_tensor import FakeTensor as FakeTensor
from .fake_tensor import FakeTensorMode as FakeTensorMode
