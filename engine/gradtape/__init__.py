from . import ops
from . import autograd
from ._define import FUNCTIONS
from ._tensor import Tensor
from ._mode import *

globals().update(FUNCTIONS)
