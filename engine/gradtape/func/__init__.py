"""Transforms of functions: gradients, Jacobians, vmap, modules as functions."""

from ._jacobians import hessian as hessian
from ._jacobians import jacfwd as jacfwd
from ._jacobians import jacrev as jacrev
from ._jacobians import jvp as jvp
from ._reverse import grad as grad
from ._reverse import grad_and_value as grad_and_value
from ._reverse import linearize as linearize
from ._reverse import vjp as vjp
from ._stateless import functional_call as functional_call
from ._stateless import functionalize as functionalize
from ._stateless import (
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from ._stateless import stack_module_state as stack_module_state
from ._vmap import vmap as vmap
