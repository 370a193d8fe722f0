"""Saving a module's parameters and buffers by name, and loading them back."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from .... import __future__ as switches
from ...._common.handles import Registry, RemovableHandle, register
from ...._common.site import user_stacklevel
from ...._modes.grad_mode import no_grad
from ...._tensor.tensor import Tensor
from ....ops.memory.swap import swap_tensors
from ...parameter import Parameter, is_lazy
from .traversal import ModuleTraversal
from .wrapped_hook import WrappedHook

EXTRA_STATE: Final = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found no partner for, on either side."""

    __module__ = "gradtape.nn.modules.module"

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__


_UNREACHABLE = (
    "Reached a code path in Module.{name}() that should never be called. Please file "
    "an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report "
    "this bug."
)
_POSITIONAL = (
    "Positional args are being deprecated, use kwargs instead. Refer to "
    "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.state_dict for details."
)
_POST_HOOK_RETURNED = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
    "return new values, if incompatible_keys need to be modified, it should be done "
    "inplace."
)


class ModuleStateDict(ModuleTraversal):
    """``state_dict`` and ``load_state_dict`` with their hooks."""

    _version: int = 1
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Registry
    _state_dict_pre_hooks: Registry
    _load_state_dict_pre_hooks: Registry
    _load_state_dict_post_hooks: Registry

    def get_extra_state(self) -> Any:
        """Return what a subclass wants saved besides tensors; to be overridden."""
        raise RuntimeError(_UNREACHABLE.format(name="get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Take back what :meth:`get_extra_state` returned; to be overridden."""
        raise RuntimeError(_UNREACHABLE.format(name="set_extra_state"))

    # ---- saving ----

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Return parameters and persistent buffers by dotted path.

        The tensors share memory with the module. With ``keep_vars`` they are the
        parameters themselves, otherwise detached.
        """
        if args:
            warnings.warn(_POSITIONAL, FutureWarning, stacklevel=2)
            given = dict(
                zip(("destination", "prefix", "keep_vars"), args, strict=False)
            )
            destination = (
                given.get("destination") if destination is None else destination
            )
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = _new_state_dict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination,
                    prefix=f"{prefix}{name}.",
                    keep_vars=keep_vars,
                )
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, local_metadata)
            if returned is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = returned
        return destination

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                saved = parameter if keep_vars else parameter.detach()
                destination[prefix + name] = saved
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not ModuleStateDict.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    # ---- loading ----

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy tensors into parameters and buffers of the same name.

        ``assign`` puts the given tensors in place instead of copying. Raises
        RuntimeError listing every size that does not fit and, with ``strict``, every
        key that has no partner.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}."
            )
        found = _IncompatibleKeys([], [])
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        given: Any = OrderedDict(state_dict)
        if metadata is not None:
            given._metadata = metadata
        _load(self, given, "", metadata, assign, found, errors)
        if strict:
            for kind, keys in (
                ("Unexpected", found.unexpected_keys),
                ("Missing", found.missing_keys),
            ):
                if keys:
                    named = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {named}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return found

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load what belongs to this module alone; children are loaded by the caller."""
        found = (missing_keys, unexpected_keys, error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, *found)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = load_one(self, name, tensor, key, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        takes_extra = type(self).set_extra_state is not ModuleStateDict.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes_extra and strict:
            missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, *rest = key[len(prefix) :].split(".", 1)
                    if first not in (self._modules if rest else own):
                        unexpected_keys.append(key)

    def _own_state(self) -> dict[str, Tensor]:
        buffers = {
            name: buffer
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        held = {**self._parameters, **buffers}
        return {name: tensor for name, tensor in held.items() if tensor is not None}

    # ---- hooks ----

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` collects."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any]
    ) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` afterwards."""
        hook._from_public_api = True  # type: ignore[attr-defined] - a mark for _register
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that "
                "was previously registered via register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any]
    ) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, …)`` before this module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        wrapped = WrappedHook(hook, self if with_module else None)
        return register(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any]
    ) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module loaded."""
        return register(self._load_state_dict_post_hooks, hook)


def _new_state_dict() -> Any:
    """Return a dict that can also carry the versions of the modules it comes from."""
    found: Any = OrderedDict()
    found._metadata = OrderedDict()
    return found


def _load(
    module: Any,
    given: Mapping[str, Any],
    prefix: str,
    metadata: Any,
    assign: bool,
    found: _IncompatibleKeys,
    errors: list[str],
) -> None:
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(
        given, prefix, local, True, found.missing_keys, found.unexpected_keys, errors
    )
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {k: v for k, v in given.items() if k.startswith(below)}
            _load(child, part, below, metadata, assign, found, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, found) is not None:
            raise AssertionError(_POST_HOOK_RETURNED)


_FAILED = (
    'While {action} the parameter named "{key}", whose dimensions in the model are '
    "{own} and whose dimensions in the checkpoint are {given}, an exception occurred "
    ": {args}."
)
_NOT_COPIED = (
    "for {key}: copying from a non-meta parameter in the checkpoint to a meta "
    "parameter in the current model, which is a no-op. (Did you mean to pass "
    "`assign=True` to assign items in the state dictionary to their corresponding key "
    "in the module instead of copying them in place?)"
)
_OWN_RETURNED = (
    "module_load returned one of self or other, please .detach() the result if "
    "returning one of the inputs in module_load"
)


def load_one(
    module: Any, name: str, own: Tensor, key: str, given: Any, assign: bool
) -> str:
    """Load one tensor; return what was wrong, or ""."""
    if not isinstance(given, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or '
            f"Tensor-like object from checkpoint but received {type(given)}"
        )
    lazy = is_lazy(own)  # then both wait for a shape
    if not lazy and own.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]  # files from before 0-d tensors
    if not lazy and given.shape != own.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} "
            f"from checkpoint, the shape in current model is {own.shape}."
        )
    if own.is_meta and not given.is_meta and not assign:
        warnings.warn(_NOT_COPIED.format(key=key), stacklevel=user_stacklevel())
    swaps = switches.get_swap_module_params_on_conversion()
    try:
        with no_grad():
            if swaps:
                _swap(own, given, assign)
            elif assign:
                setattr(module, name, _as_kept(own, given))
            else:
                own.copy_(given)
    except Exception as error:
        return _FAILED.format(
            action="swapping" if swaps else "copying",
            key=key,
            own=own.size(),
            given=given.size(),
            args=error.args,
        )
    return ""


def _swap(own: Any, given: Tensor, assign: bool) -> None:
    """Let ``own`` stay the object it is and become what ``module_load`` makes."""
    found = own.module_load(given, assign=assign)
    if found is given or found is own:
        raise RuntimeError(_OWN_RETURNED)
    swap_tensors(own, _as_kept(own, found))


def _as_kept(own: Tensor, given: Tensor) -> Tensor:
    """Return ``given`` in the role that ``own`` has: a parameter stays one."""
    if not isinstance(own, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(own.requires_grad)
    return Parameter(given, requires_grad=own.requires_grad)
