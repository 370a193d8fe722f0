"""A tensor's memory as an object: bytes, or numbers of one dtype."""

from __future__ import annotations

import io
from typing import Any

from .ops.memory.typed_storage import TypedStorage as TypedStorage
from .ops.memory.typed_storage import names_by_dtype, warn_always, warns_always
from .ops.memory.untyped_storage import UntypedStorage as UntypedStorage
from .serialization import load

# PyTorch's own names, which tools look up.
_dtype_to_storage_type_map = names_by_dtype
_get_always_warn_typed_storage_removal = warns_always
_set_always_warn_typed_storage_removal = warn_always


def load_from_bytes(content: bytes) -> Any:
    """Return the storage of a plain pickle made by PyTorch.

    A plain pickle may run any code anyway; this part of it may, too.
    """
    return load(io.BytesIO(content), weights_only=False)


_load_from_bytes = load_from_bytes  # the name in such pickles
