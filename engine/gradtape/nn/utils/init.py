"""`skip_init`: modules whose parameters are not filled."""

from __future__ import annotations

import inspect
from typing import Any

from ..._modes.grad_mode import no_grad
from ..._random.generator import default_generator
from ..modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module without drawing random numbers for it.

    What its parameters hold is not defined. Raises RuntimeError for a class that is no
    module or takes no ``device``.

    >>> import gradtape as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape
    torch.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    # There are no tensors without memory here: the draws are undone, and their trace
    # wiped out, lest a program come to rely on it.
    state = default_generator.get_state()
    try:
        made = module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(state)
    with no_grad():
        for parameter in made.parameters():
            parameter.zero_()
    return made
