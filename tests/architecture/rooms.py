"""The rooms of both packages, ground first: a room imports only rooms above it here.

A room is a folder or a file of a package's root; a part of one that lies deeper than
the rest (``utils._pytree``, which half of the packages use) has a row of its own. Rooms
in one row are peers: they may use each other, as long as no modules form a circle.
"""

from __future__ import annotations

GRADTAPE = """
    _version torch_version __future__
    _common
    _dtypes
    _backend
    _sparse version
    _graph
    _modes
    _storage
    _tensor
    _saved
    _overrides
    overrides
    _random
    _dispatch
    return_types
    _autocast
    _profiling
    ops.memory.memory_format
    ops._kernels ops._support
    ops
    _forward_mode
    _engine

    testing random fft special masked signal functional backends
    _VF __config__ _dynamo _tensor_str amp compiler cpu futures
    cuda
    _streambase accelerator
    autograd
    types linalg profiler sparse
    utils._pytree utils._python_dispatch utils.serialization
    multiprocessing distributed
    nn
    _utils safetensors
    serialization
    hub storage
    _library
    utils
    func
    _C
    _custom_op library
    _vmap_internals distributions jit onnx optim
    _public_calls
    _debug
    gradtape
"""

GRADVIZ = """
    errors _providers extras threads
    ir
    live program snapshots text services
    dependence
    diagnosis
    answers flow
    analysis plot reporting tracing
    render
    export widget
    showing
    _capture
    derivative notebook summarizing watching
    integrations stepping supposing
    values
    offers
    running testing
    gradviz
    demo mcp
    cli
    __main__
"""

WIDE = {
    "engine/gradtape/distributions": "one distribution is one file, as in PyTorch",
    "gradviz/diagnosis/rules": "one rule is one file",
}
"""Folders that may hold more than ``WIDEST`` modules of their own, and why."""

WIDEST = 40
ROOT_FILES = 30

WITHOUT_README = {
    "engine/gradtape/_custom_op": "a name of PyTorch's for what _library holds",
    "engine/gradtape/_dynamo": "a name of PyTorch's; it refuses",
    "engine/gradtape/cpu": "a name of PyTorch's: a few functions about the host",
    "engine/gradtape/fft": "a name of PyTorch's for what ops/fourier holds",
    "engine/gradtape/linalg": "a name of PyTorch's for what ops/linalg holds",
    "engine/gradtape/multiprocessing": "a name of PyTorch's for Python's own",
    "engine/gradtape/profiler": "a name of PyTorch's for what autograd holds",
    "engine/gradtape/signal": "a name of PyTorch's: one file of windows",
    "engine/gradtape/sparse": "a name of PyTorch's for what ops/sparse holds",
    "engine/gradtape/special": "a name of PyTorch's for what ops/pointwise holds",
}
"""Folders that need no README.md of their own, and why."""


def _rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


ORDER = {
    package: {room: rank for rank, row in enumerate(_rows(text)) for room in row}
    for package, text in (("gradtape", GRADTAPE), ("gradviz", GRADVIZ))
}
"""By package: each room's rank, the ground's being 0."""


def room_of(module: str) -> str | None:
    """Return the room a module lies in; None where the list does not know it.

    >>> room_of("gradtape.utils._pytree"), room_of("gradtape.utils.data.dataset")
    ('utils._pytree', 'utils')
    >>> room_of("gradtape")
    'gradtape'
    """
    package, _, inside = module.partition(".")
    while inside and inside not in ORDER[package]:
        inside = inside.rpartition(".")[0]
    return inside or (package if module == package else None)
