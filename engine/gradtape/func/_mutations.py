"""Functions freed of what disturbs transforms: mutations, running statistics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..nn import Module
from ..nn.modules import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ._arguments import transforming

_REMOVE = (
    "functionalize(f, remove='mutations'): received invalid argument for remove={}. "
    "Valid options are:\n     remove='mutations': all inplace and out= operators will "
    "be removed from the program, and replaced with their out-of-place equivalents.\n"
    "     remove='mutations_and_views': In addition to the above, all aliasing "
    "operators {{view}} will be replaced with their non-aliasing counterparts, "
    "{{view}}_copy.\n"
)


def functionalize(
    func: Callable[..., Any], *, remove: str = "mutations"
) -> Callable[..., Any]:
    """Return a function of the same results, and the same effect on its arguments.

    PyTorch rewrites the mutations in it for compilers; nothing is compiled here, so
    they run as they are. Raises RuntimeError for another ``remove``.

    >>> import gradtape as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(1))
    tensor([1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_REMOVE.format(remove))

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let batch norms in a module use the statistics of each batch, and keep none.

    >>> from gradtape import func, nn
    >>> func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2)).running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, BatchNorm1d | BatchNorm2d | BatchNorm3d):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
