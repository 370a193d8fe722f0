"""Optimizer: parameter groups, state, hooks; what all optimizers share."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from .._common.handles import RemovableHandle, register
from .._common.messages import legacy_type_name
from .._common.site import caller_site
from .._dispatch.inplace import note_write
from .._dtypes import float32
from .._graph.observe import OptimizerStepped, notify, observers
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from ..ops.tensor.queries import typename
from ._helpers import capturable_devices as _get_capturable_supported_devices  # noqa: F401
from ._helpers import fused_or_foreach as _default_to_fused_or_foreach  # noqa: F401
from ._helpers import number_of as _get_value  # noqa: F401
from ._helpers import scalar_dtype as _get_scalar_dtype  # noqa: F401
from ._helpers import scalar_of as _to_scalar  # noqa: F401
from ._helpers import use_grad_for_differentiable as _use_grad_for_differentiable  # noqa: F401
from ._helpers import view_as_real as _view_as_real  # noqa: F401

_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer.

    A pair it returns takes the place of ``(args, kwargs)``.
    """
    return register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return register(_global_optimizer_post_hooks, hook)


def announced(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step: hooks before and after, then an event for the observers."""

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        profile = mode.now.profile
        if profile is None:
            return _between_hooks(step, self, args, kwargs)
        kind = type(self).__name__
        with profile.block(f"Optimizer.step#{kind}.step"):
            return _between_hooks(step, self, args, kwargs)

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


def _between_hooks(
    step: Callable[..., Any],
    optimizer: Optimizer,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    before = optimizer.__dict__["_optimizer_step_pre_hooks"]
    after = optimizer.__dict__["_optimizer_step_post_hooks"]
    if before or _global_optimizer_pre_hooks:
        # Hooks see what the wrapped function gets: the optimizer comes first.
        call: Any = ((optimizer, *args), kwargs)
        hooks = (*_global_optimizer_pre_hooks.values(), *before.values())
        for hook in hooks:
            call = _checked(step, hook(optimizer, *call), call)
        (_, *rest), kwargs = call
        args = tuple(rest)
    result = step(optimizer, *args, **kwargs)
    if after or _global_optimizer_post_hooks:
        for hook in list(chain(after.values(), _global_optimizer_post_hooks.values())):
            hook(optimizer, (optimizer, *args), kwargs)
    if observers:
        notify(OptimizerStepped(optimizer, caller_site()))
    return result


def _checked(step: Callable[..., Any], changed: Any, call: Any) -> Any:
    if changed is None:
        return call
    if isinstance(changed, tuple) and len(changed) == 2:  # pyright: ignore[reportUnknownArgumentType]
        return changed  # pyright: ignore[reportUnknownVariableType]
    raise RuntimeError(
        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
        f"{changed}."
    )


Group: TypeAlias = dict[str, Any]
Parameters: TypeAlias = Iterable[Any]
ParamsT: TypeAlias = Parameters
StateDict: TypeAlias = dict[str, Any]

SETS_HAVE_NO_ORDER = (
    "optimizer parameters need to be organized in ordered collections, but the "
    "ordering of tensors in sets will change between runs. Please use a list instead."
)
DUPLICATES = (
    "optimizer contains a parameter group with duplicate parameters; in future, this "
    "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
    "information"
)
SOME_NAMES = (
    "all optimizer params should be with/without names. Some param names are missing"
)
HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """The type of :data:`required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()
"""A default that says: every parameter group must give this option itself."""


class Optimizer:
    """Base of all optimizers.

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts that
    are parameter groups with options of their own; ``defaults`` holds the options a
    group leaves out. A subclass writes :meth:`step`.

    >>> import gradtape as torch
    >>> class SignDescent(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(group["lr"] * p.grad.sign())
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = SignDescent([w], {"lr": 0.25})
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    state: defaultdict[Any, Any]
    param_groups: list[Group]

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of "
                f"Tensors or dicts, but got {legacy_type_name(params.dtype)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOKS:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def _patch_step_function(self) -> None:
        """Let hooks, profiler and observers know of the steps of this class."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = announced(cls.step)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"{chr(10) if number else ''}Parameter Group {number}")
            lines += [
                f"    {key}: {group[key]}" for key in sorted(group) if key != "params"
            ]
        return "\n".join([*lines, ")"])

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with options of its own.

        Raises TypeError for members that are no tensors and ValueError for non-leaves,
        for parameters that are in another group already, for names given to some
        parameters only, and for a required option left out.
        """
        if not isinstance(param_group, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        members = _members(param_group)
        for member in members:
            self._check_member(member)
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization "
                    f"parameter {name}"
                )
            param_group.setdefault(name, value)
        if len(set(members)) != len(members):
            warnings.warn(DUPLICATES, stacklevel=3)
        self._check_against_groups(param_group)
        self.param_groups.append(param_group)

    def _check_member(self, member: Any) -> None:
        if not isinstance(member, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                + typename(member)
            )
        if self.defaults.get("differentiable", None):
            return
        if not (member.is_leaf or member.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_against_groups(self, new: Group) -> None:
        named = "param_names" in new
        known: set[Tensor] = set()
        for group in self.param_groups:
            known.update(group["params"])
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot "
                    f"add param group {'with' if named else 'without'} names to the "
                    "optimizer"
                )
        if not known.isdisjoint(new["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

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
                grad = param._grad
                if grad is None:
                    continue
                if set_to_none:
                    param._grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, once.

        ``closure`` computes the loss anew and is called first; its value is returned.
        """
        raise NotImplementedError

    def wrote(self, param: Tensor, times: int = 1) -> None:
        """Count and log the writes a step just made to a parameter."""
        for _ in range(times):
            note_write(param, f"{type(self).__name__}.step")

    # ---- hooks and state ----------------------------------------------------------

    def _register(self, kind: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        hooks: OrderedDict[int, Any] = getattr(self, f"_optimizer_{kind}_hooks")
        handle = register(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step.

        A pair it returns takes the place of ``(args, kwargs)``.
        """
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before the state is packed."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(
        self,
        hook: Callable[[Optimizer, StateDict], StateDict | None],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)``; a dict it returns takes its place."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self,
        hook: Callable[[Optimizer, StateDict], StateDict | None],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return one."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` when a state has been loaded."""
        return self._register("load_state_dict_post", hook, prepend)

    def state_dict(self) -> StateDict:
        """Return options and state; parameters appear as numbers, in order."""
        return pack_state(self)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over options and state; tensors get the parameters' dtype and device.

        Raises ValueError where the groups do not match this optimizer's.
        """
        load_state(self, state_dict)

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor,
        value: Tensor,
        param_id: int,
        param_groups: list[Group],
        key: Hashable = None,
    ) -> Tensor:
        """Return a loaded tensor as it belongs beside ``param``."""
        return fit_to(param, value, param_id, param_groups, key)


def _members(group: Group) -> list[Any]:
    """Make ``group["params"]`` a list of tensors; put names aside."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(SETS_HAVE_NO_ORDER)
    members = [params] if isinstance(params, Tensor) else list(params)
    names = [each[0] for each in members if isinstance(each, tuple)]
    members = [each[1] if isinstance(each, tuple) else each for each in members]
    group["params"] = members
    if names:
        if len(names) != len(members):
            raise ValueError(SOME_NAMES)
        group["param_names"] = names
    return members


OTHER_GROUPS = "loaded state dict has a different number of parameter groups"
OTHER_SIZES = (
    "loaded state dict contains a parameter group that doesn't match the size of "
    "optimizer's group"
)


def pack_state(optimizer: Optimizer) -> dict[str, Any]:
    """Return state and groups with each parameter replaced by its number."""
    hooks = optimizer.__dict__
    for before in hooks["_optimizer_state_dict_pre_hooks"].values():
        before(optimizer)
    numbers: dict[int, int] = {}
    total = 0
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        for number, param in enumerate(group["params"], total):
            numbers.setdefault(id(param), number)
        packed = {key: value for key, value in group.items() if key != "params"}
        packed["params"] = [numbers[id(param)] for param in group["params"]]
        groups.append(packed)
        total += len(packed["params"])
    state = {
        numbers[id(key)] if isinstance(key, Tensor) else key: value
        for key, value in optimizer.state.items()
    }
    result: dict[str, Any] = {"state": state, "param_groups": groups}
    for after in hooks["_optimizer_state_dict_post_hooks"].values():
        changed = after(optimizer, result)
        if changed is not None:
            result = changed
    return result


def load_state(optimizer: Optimizer, loaded: dict[str, Any]) -> None:
    """Give the optimizer the loaded groups and state; see ``load_state_dict``."""
    hooks = optimizer.__dict__
    loaded = loaded.copy()
    for before in hooks["_optimizer_load_state_dict_pre_hooks"].values():
        changed = before(optimizer, loaded)
        if changed is not None:
            loaded = changed
    groups, saved = optimizer.param_groups, deepcopy(loaded["param_groups"])
    by_number = _match(groups, saved)
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in loaded["state"].items():
        param = by_number.get(key)
        if param is None:
            state[key] = value
        else:
            state[param] = _fit(
                optimizer, param, value, key, loaded["param_groups"], None
            )
    for old, new in zip(saved, groups, strict=True):
        old["params"] = new["params"]
        if "param_names" in new:
            old.setdefault("param_names", new["param_names"])
    optimizer.__setstate__({"state": state, "param_groups": saved})
    for after in hooks["_optimizer_load_state_dict_post_hooks"].values():
        after(optimizer)


def _match(
    groups: list[dict[str, Any]], saved: list[dict[str, Any]]
) -> dict[Any, Tensor]:
    """Return the parameter of each number, or raise where the groups differ."""
    if len(groups) != len(saved):
        raise ValueError(OTHER_GROUPS)
    sizes = [len(group["params"]) for group in groups]
    if sizes != [len(group["params"]) for group in saved]:
        raise ValueError(OTHER_SIZES)
    return {
        number: param
        for old, new in zip(saved, groups, strict=True)
        for number, param in zip(old["params"], new["params"], strict=True)
    }


def _fit(
    optimizer: Optimizer,
    param: Tensor,
    value: Any,
    number: Any,
    groups: list[dict[str, Any]],
    key: Hashable,
) -> Any:
    """Let the optimizer's policy see every tensor within ``value``."""
    if isinstance(value, Tensor):
        return optimizer._process_value_according_to_param_policy(
            param, value, number, groups, key
        )
    if isinstance(value, dict):
        return {
            name: _fit(optimizer, param, each, number, groups, name)
            for name, each in value.items()
        }
    if isinstance(value, Iterable) and not isinstance(value, str):
        kind: Any = type(value)
        return kind(
            _fit(optimizer, param, each, number, groups, None) for each in value
        )
    return value


def fit_to(
    param: Tensor,
    value: Tensor,
    number: Any,
    groups: list[dict[str, Any]],
    key: Hashable,
) -> Tensor:
    """Cast a loaded tensor to the parameter's dtype and device, except the counter."""
    group = next((g for g in groups if number in g["params"]), {})
    if key == "step":
        if group.get("capturable", False) or group.get("fused", False):
            return value.to(dtype=float32, device=param.device)
        return value
    if param.dtype.is_floating_point:
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
