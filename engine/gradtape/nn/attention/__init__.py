"""Scaled dot product attention: which kind may run, and (in ``bias``) causal biases."""

from ._kinds import SDPBackend as SDPBackend
from ._kinds import sdpa_kernel as sdpa_kernel
