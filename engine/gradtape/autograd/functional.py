"""Higher-order derivatives of a function at a point: matrices, and products of them.

Each takes the function and its inputs, calls the function on fresh tensors, and returns
plain results; with ``create_graph=True`` those can be differentiated again.
"""

from ._functional.jacobian import hessian as hessian
from ._functional.jacobian import jacobian as jacobian
from ._functional.jacobian import standard_basis
from ._functional.products import hvp as hvp
from ._functional.products import jvp as jvp
from ._functional.products import vhp as vhp
from ._functional.products import vjp as vjp

_construct_standard_basis_for = standard_basis  # what programs know it by
