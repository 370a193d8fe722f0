"""The functions in which modes and classes have a say: where they are, their names."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any, Final

from .._graph.registry import MODULES
from .._overrides.torch_function import unwrapped
from .._tensor.subclasses import when_opinionated
from .._tensor.tensor import Tensor
from ._guard import entries, guard, is_guardable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODULES: Final = (".functional", ".nn.functional", "", ".linalg", ".fft", ".special")

_INITS: Final = ("uniform_", "normal_", "constant_", "kaiming_uniform_")
"""Of ``nn.init``, what is not written in terms of the others."""

FACTORIES: Final = _words(
    """
    arange as_tensor asarray bartlett_window blackman_window empty
    empty_permuted empty_quantized empty_strided eye from_file from_numpy
    frombuffer full hamming_window hann_window kaiser_window linspace logspace
    normal ones rand randint randn randperm range result_type can_cast
    promote_types scalar_tensor sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
    sparse_csr_tensor tensor tril_indices triu_indices zeros fftfreq rfftfreq
    complex_window vander
    """
)
"""What makes tensors of other things: only modes have a say."""

SILENT: Final = _words(
    """
    are_deterministic_algorithms_enabled as_subclass autocast broadcast_shapes
    boolean_dispatch handle_torch_function has_torch_function
    has_torch_function_unary has_torch_function_variadic calculate_gain cond
    clear_autocast_cache compile dtype
    export fork get_autocast_dtype get_default_device get_default_dtype
    get_device_module get_deterministic_debug_mode get_float32_matmul_precision
    get_num_interop_threads get_num_threads get_rng_state initial_seed
    is_deterministic_algorithms_warn_only_enabled is_storage is_tensor
    is_warn_always_enabled load manual_seed reinforce save seed
    set_default_device set_default_dtype set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
    set_num_interop_threads set_num_threads set_printoptions set_rng_state
    set_warn_always typename use_deterministic_algorithms vmap wait observe
    compiled_with_cxx11_abi upsample upsample_bilinear upsample_nearest
    scaled_mm scaled_grouped_mm grouped_mm swap_tensors is_autocast_enabled
    is_autocast_cache_enabled set_autocast_enabled set_autocast_cache_enabled
    set_autocast_dtype autocast_increment_nesting autocast_decrement_nesting
    is_anomaly_enabled is_anomaly_check_nan_enabled set_anomaly_enabled
    is_grad_enabled is_inference_mode_enabled get_file_path
    """
)
"""What asks nobody: settings, files, and what is written in terms of the others."""

_PRIVATE: Final = _words(
    """
    _backward_hooks _base _cdata _coalesced_ _dimI _dimV _grad _grad_fn _indices
    _is_view _nnz _post_accumulate_grad_hooks _values _version
    """
)

_QUIET_SPECIAL: Final = _words(
    """
    __class__ __class_getitem__ __del__ __delattr__ __delitem__ __getattr__
    __getattribute__ __getstate__ __hash__ __init__ __init_subclass__ __iter__
    __new__ __setattr__ __sizeof__ __str__ __subclasshook__ __torch_function__
    __weakref__ __post_init__ __copy__
    """
)

OPERATORS: Final = {
    "__abs__": "abs",
    "__add__": "add",
    "__radd__": "add",
    "__iadd__": "add_",
    "__sub__": "sub",
    "__isub__": "sub_",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__imul__": "mul_",
    "__truediv__": "div",
    "__div__": "div",
    "__itruediv__": "div_",
    "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__matmul__": "matmul",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__eq__": "eq",
    "__ne__": "ne",
    "__ge__": "ge",
    "__gt__": "gt",
    "__le__": "le",
    "__lt__": "lt",
    "__neg__": "neg",
    "__pos__": "positive",
}
"""Operators that are told to others under the name of a method."""

_ARITHMETIC: Final = _words(
    """
    add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift
    """
)

DEFERRING: Final = frozenset(
    f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r", "i")
) | {"__eq__", "__ne__", "__ge__", "__gt__", "__le__", "__lt__"}
"""Operators that answer NotImplemented where no class knows."""

_BUILT_IN_LAYERS: Final = _words(
    """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_
    channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink
    hardtanh_ leaky_relu_ linear logsigmoid native_channel_shuffle one_hot
    pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
    scaled_dot_product_attention selu_ sigmoid softplus softshrink tanh
    threshold_
    """
)
"""Of ``nn.functional``, what PyTorch writes in C++: nobody is told its defaults."""


SHARED_LAYERS: Final = _words(
    """
    adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d
    conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity
    hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle
    pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_
    """
)
"""Of these, what PyTorch offers as the same object twice; the longer name counts."""

_PYTHON_METHODS: Final = _words(
    """
    __array__ __contains__ __deepcopy__ __dir__ __dlpack__ __dlpack_device__
    __floordiv__ __format__ __ipow__ __len__ __pow__ __rdiv__ __reduce_ex__
    __repr__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__
    __rpow__ __rrshift__ __rsub__ __rtruediv__ __setstate__ backward dim_order
    index istft lu norm register_hook register_post_accumulate_grad_hook
    share_memory_ is_shared storage storage_type split stft unflatten unique
    unique_consecutive
    """
)
"""Of the methods, what PyTorch writes in Python."""


LEAVES: Final = {
    "item": "_local_scalar_dense.default",
    "empty": "empty.memory_format",
    **{
        name: f"{name}.default"
        for name in _words(
            """
            allclose detach empty_like empty_strided equal full full_like new_empty
            new_full new_ones new_zeros ones ones_like rand rand_like randint_like
            randn randn_like randperm zeros zeros_like
            """
        )
    },
}
"""What runs whole under ``__torch_dispatch__``, since it is made of no declared ops."""


def guard_all() -> None:
    """Let every one of them ask."""
    operators = {getattr(Tensor, name): name for name in DEFERRING & _names(Tensor)}
    for descriptor in properties():
        for act in ("get", "set", "delete"):
            half = getattr(descriptor, f"f{act[:3]}")
            if is_guardable(half):
                guard(half, getattr(descriptor, f"__{act}__"))
    unwrapped.update(
        getattr(Tensor, name).__get__
        for name in ("_base", "grad", "_grad")
        if hasattr(Tensor, name)
    )
    for name, function in methods():
        if is_guardable(function):
            shown = getattr(Tensor, OPERATORS.get(name, name), function)
            if shown is function and name.startswith("__"):
                function.__name__ = name
            fills = name in _PYTHON_METHODS
            guard(
                function,
                shown,
                defers=function in operators,
                fills=fills,
                leaf=LEAVES.get(name, ""),
            )
    for module, name, function in functions():
        if is_guardable(function):
            graph = module.endswith(".autograd")
            layer = module.endswith((".functional", ".init"))
            guard(
                function,
                function,
                by_modes=name in FACTORIES,
                leaf=LEAVES.get(name, ""),
                fills=graph or (layer and name not in _BUILT_IN_LAYERS),
                tuples=graph,
            )


def _names(owner: type) -> set[str]:
    return {name for kind in owner.__mro__[:-1] for name in vars(kind)}


def properties() -> Iterator[property]:
    """Yield the attributes of tensors that are computed."""
    for name in sorted(_names(Tensor)):
        found = getattr(Tensor, name)
        if type(found) is property and (not name.startswith("_") or name in _PRIVATE):
            yield found


def methods() -> Iterator[tuple[str, FunctionType]]:
    """Yield the methods of tensors."""
    for name in sorted(_names(Tensor)):
        special = name.startswith("__") and name not in _QUIET_SPECIAL
        if name.startswith("_") and not special and name not in _PRIVATE:
            continue
        found = getattr(Tensor, name)
        if type(found) is FunctionType and name not in SILENT:
            yield name, found


def functions() -> Iterator[tuple[str, str, FunctionType]]:
    """Yield the functions: where each is found, its name, and itself."""
    for path in _MODULES:
        module = MODULES[path]
        for name in sorted(vars(module)):
            found = getattr(module, name)
            if (
                type(found) is FunctionType
                and not name.startswith("_")
                and name not in SILENT
                and found.__code__.co_filename != "<string>"
            ):
                yield module.__name__, name, found
    init = MODULES[".nn.init"]
    for name in _INITS:
        yield init.__name__, name, getattr(init, name)
    graph = MODULES[".autograd"]
    for name in ("backward", "grad"):
        yield graph.__name__, name, getattr(graph, name)


_lock = threading.Lock()

when_arming: list[Callable[[], Callable[[], None]]] = []
"""Take away what stands in the place of functions; return what puts it back."""


def arm(_owner: object = None) -> None:
    """Let modes and classes have a say in whole functions, from now on."""
    if not entries:
        with _lock:
            if not entries:
                again = [step_aside() for step_aside in when_arming]
                guard_all()
                for come_back in again:
                    come_back()


when_opinionated.append(arm)


# ---- what they are called ----

_OWNERS = (
    "",
    ".functional",
    ".nn.functional",
    ".nn.init",
    ".Tensor",
    ".linalg",
    ".fft",
    ".special",
)


@cache
def _owners() -> tuple[tuple[str, Any], ...]:
    owners = MODULES | {".Tensor": Tensor}
    return tuple((f"torch{path}", owners[path]) for path in _OWNERS)


@cache
def _named() -> tuple[dict[Any, list[Any]], dict[Any, str]]:
    """Return the functions that ask by owner, and the names of all of them."""
    arm()
    by_owner: dict[Any, list[Any]] = {}
    names: dict[Any, str] = {}
    for path, owner in _owners():
        for name in dir(owner):
            found = inspect.getattr_static(owner, name)
            if type(found) is property:
                _add_property(path, owner, name, found, by_owner, names)
            elif type(found) is FunctionType:
                if name in SHARED_LAYERS or found not in names:
                    names[found] = f"{path}.{name}"
                private = name.startswith("_") and owner is not Tensor
                if found in entries and not private and name not in FACTORIES:
                    by_owner.setdefault(owner, []).append(found)
    return by_owner, names


def _add_property(
    path: str,
    owner: Any,
    name: str,
    found: property,
    by_owner: dict[Any, list[Any]],
    names: dict[Any, str],
) -> None:
    for act in ("get", "set"):
        names[getattr(found, f"__{act}__")] = f"{path}.{name}.__{act}__"
    if found.fget in entries:
        by_owner.setdefault(found, []).append(found.__get__)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions in which classes have a say, by the module or class.

    >>> import gradtape as torch
    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {owner: list(found) for owner, found in _named()[0].items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions that no class of tensors can answer for."""
    found: set[Callable[..., Any]] = set()
    for _, owner in _owners():
        for name in SILENT | FACTORIES:
            value = getattr(owner, name, None)
            if callable(value):
                found.add(value)
    return found


@cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each of them, a function of the same arguments that gives -1."""
    listed = [each for found in _named()[0].values() for each in found]
    return {function: _minus_one(function) for function in listed}


def _minus_one(function: Any) -> Callable[..., Any]:
    if not isinstance(function, FunctionType):
        return lambda self: -1
    heads: list[str] = []
    for p in inspect.signature(entries[function].plain).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            heads.append(f"*{p.name}")
        elif p.kind is p.VAR_KEYWORD:
            heads.append(f"**{p.name}")
        else:
            if p.kind is p.KEYWORD_ONLY and not any(h.startswith("*") for h in heads):
                heads.append("*")
            needed = p.default is p.empty and p.kind is not p.KEYWORD_ONLY
            heads.append(f"{p.name}=None" if heads and not needed else p.name)
    return eval(f"lambda {', '.join(heads)}: -1")


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the public name of a function as ``__torch_function__`` gets it.

    >>> import gradtape as torch
    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    try:
        return _named()[1].get(f)
    except TypeError:  # what cannot be hashed is none of them
        return None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Tell whether a function is a method or attribute of Tensor.

    >>> import gradtape as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add_)
    True
    """
    return func in _tensor_methods() or getattr(func, "__name__", "") == "__get__"


@cache
def _tensor_methods() -> frozenset[Any]:
    values = (inspect.getattr_static(Tensor, name) for name in dir(Tensor))
    return frozenset(v for v in values if type(v) is FunctionType)
