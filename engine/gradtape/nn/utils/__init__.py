"""Helpers around parameters: clipping gradients, flattening."""

from __future__ import annotations

from . import rnn as rnn
from ._clip import clip_grad_norm as clip_grad_norm
from ._clip import clip_grad_norm_ as clip_grad_norm_
from ._clip import clip_grad_value_ as clip_grad_value_
from ._clip import clip_grads_with_norm_ as clip_grads_with_norm_
from ._clip import get_total_norm as get_total_norm
from ._vectors import parameters_to_vector as parameters_to_vector
from ._vectors import vector_to_parameters as vector_to_parameters
