"""The rules, one file per family of ops; importing them fills the table."""

from .._table import RULES as RULES
from . import activation as activation
from . import arithmetic as arithmetic
from . import convolution as convolution
from . import index as index
from . import norm as norm
from . import recurrent as recurrent
from . import reduce as reduce
from . import resize as resize
from . import shape as shape
