"""A tensor's memory as an object: bytes, or numbers of one dtype."""

from ._typed_storage import TypedStorage as TypedStorage
from ._typed_storage import names_by_dtype
from ._untyped_storage import UntypedStorage as UntypedStorage

_dtype_to_storage_type_map = names_by_dtype  # PyTorch's own name, which tools look up
