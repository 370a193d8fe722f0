"""A tensor's memory as an object: bytes, or numbers of one dtype."""

from ._typed_storage import TypedStorage as TypedStorage
from ._untyped_storage import UntypedStorage as UntypedStorage
