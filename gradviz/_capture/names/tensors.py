"""Names of tensors, from modules and the user's frames, and of the ops of nodes."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from types import FrameType
from typing import Any

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def op_name(node: str) -> str:
    """Return the op that a node belongs to, as PyTorch spells it.

    >>> op_name("LogSoftmaxBackward0"), op_name("Im2ColBackward0")
    ('log_softmax', 'im2col')
    """
    return _WORD.sub("_", node.rpartition("Backward")[0] or node).lower()


def grad_fn_of(tensor: Any) -> Any:
    """Return a tensor's backward function; None also where asking for it is refused.

    PyTorch makes that of a view anew after a write to its base, and may not want to.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def kept_tensors(node: Any) -> Iterator[Any]:
    """Yield the tensors that a node saved for its derivative, as far as it has them."""
    for name in dir(node):
        if not name.startswith("_saved_") and name != "saved_tensors":
            continue
        try:
            value = getattr(node, name)
        except (RuntimeError, AttributeError):  # freed, or overwritten since
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            if hasattr(each, "untyped_storage"):
                yield each


def names_in_frame(frame: FrameType | None, tensor_type: type) -> dict[int, str]:
    """Map ``id(tensor)`` to the name it has in a frame or in the main program.

    A variable gives its own name; a module gives its parameters and buffers their
    paths (``conv1.weight``). Several modules are told apart by the variable's name.
    """
    return {id(tensor): name for name, tensor in tensors_in_frame(frame, tensor_type)}


def tensors_in_frame(
    frame: FrameType | None, tensor_type: type
) -> list[tuple[str, Any]]:
    """Return the named tensors of a frame and the main program, each one once."""
    variables = dict(vars(sys.modules["__main__"]))
    if frame is not None:
        variables |= {**frame.f_globals, **locals_of(frame)}
    found: dict[int, tuple[str, Any]] = {}
    modules = {
        name: value
        for name, value in variables.items()
        if not isinstance(value, type) and _is_module(value)
    }
    tops = _without_children(modules)
    for name, module in tops.items():
        prefix = f"{name}." if len(tops) > 1 else ""
        found |= {
            id(tensor): (prefix + path, tensor) for path, tensor in _members(module)
        }
    for name, value in variables.items():
        if isinstance(value, tensor_type) and not name.startswith("_"):
            found.setdefault(id(value), (name, value))
    return list(found.values())


def locals_of(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a frame without keeping them alive there.

    Up to Python 3.12 a function's ``f_locals`` is a copy that the frame holds on to,
    and with it every tensor that the function has long since let go of.
    """
    variables = frame.f_locals
    copy = dict(variables)
    is_copy = frame.f_code.co_flags & inspect.CO_OPTIMIZED and isinstance(
        variables, dict
    )
    # Of two references one is the frame's; the third would be the user's locals().
    if is_copy and sys.getrefcount(variables) <= _OWN_REFERENCES:
        variables.clear()
    return copy


_OWN_REFERENCES = 3  # the frame, our variable, and the argument of getrefcount


def names_in_module(module: Any) -> dict[int, str]:
    """Map ``id(tensor)`` to its path, for parameters and buffers of a module."""
    return {id(tensor): path for path, tensor in _members(module)}


def unsharded_in(top: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield module, attribute and tensor of the whole parameters that FSDP makes.

    ``fully_shard`` has these in the place of the module's own while it runs, and the
    leaves of the graph are these.
    """
    for module in top.modules():
        state = getattr(module, "_get_fsdp_state", None)
        if state is None:
            continue
        with suppress(Exception):  # private names of PyTorch
            for group in _parameter_groups(state()):
                for each in group.fsdp_params:
                    whole = getattr(each, "_unsharded_param", None)
                    if whole is not None:
                        info = each._module_info
                        yield info.module, info.param_name, whole


def _parameter_groups(state: Any) -> list[Any]:
    several = getattr(state, "_fsdp_param_groups", None)
    found = [state._fsdp_param_group] if several is None else [*several]
    return [group for group in found if group is not None]


def _members(module: Any) -> list[tuple[str, Any]]:
    try:
        members = [*module.named_parameters(), *module.named_buffers()]
    except Exception:
        return []
    return [(own_path(path), member) for path, member in members]


def own_path(path: str) -> str:
    """Return a path as it is without ``torch.compile``, which wraps a module in one.

    >>> own_path("body._orig_mod.0.weight")
    'body.0.weight'
    """
    return ".".join(part for part in path.split(".") if part != _COMPILED)


_COMPILED = "_orig_mod"


def _is_module(value: Any) -> bool:
    cls = type(value)
    return hasattr(cls, "named_parameters") and hasattr(cls, "named_buffers")


def _without_children(modules: dict[str, Any]) -> dict[str, Any]:
    """Leave out modules that are part of another one in the dict."""
    inner: set[int] = set()
    for module in modules.values():
        try:
            inner |= {id(child) for child in module.modules() if child is not module}
        except Exception:
            continue
    kept: dict[int, tuple[str, Any]] = {}
    for name, module in modules.items():
        if id(module) not in inner:
            kept.setdefault(id(module), (name, module))
    return dict(kept.values())
