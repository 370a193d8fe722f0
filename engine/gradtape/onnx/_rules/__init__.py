"""The rules, one file per family of ops; importing them fills the table."""

from .._table import RULES as RULES
from . import activation as activation
from . import arithmetic as arithmetic
from . import compare as compare
from . import convolution as convolution
from . import index as index
from . import matmul as matmul
from . import norm as norm
from . import pad as pad
from . import pixels as pixels
from . import pool as pool
from . import recurrent as recurrent
from . import reduce as reduce
from . import resize as resize
from . import shape as shape
from . import unary as unary
from . import write as write
