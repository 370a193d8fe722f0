"""Modes of recording: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from .._modes.grad_mode import enable_grad as enable_grad
from .._modes.grad_mode import no_grad as no_grad
from .._modes.grad_mode import set_grad_enabled as set_grad_enabled
from ..ops.tensor.inference import inference_mode as inference_mode
from ..ops.tensor.inference import unsafe_preserve_version_counter
from ._multithreading import set_multithreading_enabled as set_multithreading_enabled

_unsafe_preserve_version_counter = unsafe_preserve_version_counter
