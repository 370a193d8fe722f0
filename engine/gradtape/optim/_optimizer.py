"""Optimizer: parameter groups, state, hooks; what all optimizers share."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeAlias

from .._before_write import before_write
from .._errors import legacy_type_name
from .._hooks import RemovableHandle, new_registry, register
from .._inplace import note_write
from .._mode import enable_grad, mode, no_grad
from .._observe import OptimizerStepped, notify, observers
from .._site import caller_site
from .._tensor import Tensor
from ._state_dict import load_state, pack_state

Group: TypeAlias = dict[str, Any]
Parameters: TypeAlias = Iterable[Any]

SETS_HAVE_NO_ORDER = (
    "optimizer parameters need to be organized in ordered collections, but the "
    "ordering of tensors in sets will change between runs. Please use a list instead."
)
DUPLICATES = (
    "optimizer contains a parameter group with duplicate parameters; in future, this "
    "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
    "information"
)


class Optimizer:
    """Base of all optimizers.

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts that
    are parameter groups with options of their own; ``defaults`` holds the options a
    group leaves out. A subclass writes :meth:`update`, which steps one group.
    """

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of "
                f"Tensors or dicts, but got {legacy_type_name(params.dtype)}"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._pre_hooks = new_registry()
        self._post_hooks = new_registry()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls) -> None:
        """Let hooks and observers know of every subclass's steps."""
        if "step" in cls.__dict__:
            cls.step = _announced(cls.__dict__["step"])

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with options of its own.

        Raises TypeError for members that are no tensors and ValueError for non-leaves
        and for parameters that are in another group already.
        """
        if not isinstance(param_group, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(SETS_HAVE_NO_ORDER)
        members: list[Any] = list(params)
        if members and isinstance(members[0], tuple):
            names, tensors = zip(*members, strict=True)
            param_group["param_names"] = list(names)
            members = list(tensors)
        param_group["params"] = members
        for member in members:
            _check_member(member)
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)
        if len({id(p) for p in members}) != len(members):
            warnings.warn(DUPLICATES, stacklevel=3)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(id(p) for p in members):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or fill them with zeros."""
        profile = mode.now.profile
        if profile is None:
            self._zero_grad(set_to_none)
            return
        kind = type(self).__name__
        with profile.block(f"Optimizer.zero_grad#{kind}.zero_grad"):
            self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if param._grad is None:
                    continue
                if set_to_none:
                    param._grad = None
                    continue
                if param._grad.grad_fn is not None:
                    param._grad = param._grad.detach()
                param._grad.requires_grad_(False)
                param._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, once.

        ``closure`` computes the loss anew and is called first; its value is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for look in before_write:
                    for param in group["params"]:
                        look(param)
                self.update(group)
        return loss

    def update(self, group: Group) -> None:
        """Step the parameters of one group."""
        raise NotImplementedError

    def wrote(self, param: Tensor, times: int = 1) -> None:
        """Count and log the writes a step just made to a parameter."""
        for _ in range(times):
            note_write(param, f"{type(self).__name__}.step")

    # ---- hooks and state ----------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return register(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return register(self._post_hooks, hook)

    def state_dict(self) -> dict[str, Any]:
        """Return options and state; parameters appear as numbers, in order."""
        return pack_state(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over options and state, with copies of the tensors.

        Raises ValueError where the groups do not match this optimizer's.
        """
        load_state(self, deepcopy(state_dict))

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"{chr(10) if number else ''}Parameter Group {number}")
            lines += [
                f"    {key}: {group[key]}" for key in sorted(group) if key != "params"
            ]
        return "\n".join([*lines, ")"])


def _check_member(member: Any) -> None:
    if not isinstance(member, Tensor):
        raise TypeError(
            "optimizer can only optimize Tensors, but one of the params is "
            + type(member).__name__
        )
    if not (member.is_leaf or member.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _announced(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step: hooks before and after, then an event for the observers."""

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        profile = mode.now.profile
        if profile is None:
            return announced(self, *args, **kwargs)
        kind = type(self).__name__
        with profile.block(f"Optimizer.step#{kind}.step"):
            return announced(self, *args, **kwargs)

    def announced(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in list(self._post_hooks.values()):
            hook(self, args, kwargs)
        if observers:
            notify(OptimizerStepped(self, caller_site()))
        return result

    return wrapper


Optimizer.step = _announced(Optimizer.step)  # type: ignore[method-assign]


def gradient_of(param: Tensor, maximize: bool) -> Any:
    """Return the raw gradient of a parameter, turned round to maximize."""
    grad = param._grad
    assert grad is not None
    return -grad._data if maximize else grad._data
