"""Saving and loading: ``save``, ``load``, and what programs set around them."""

from ..ops.memory.memory_format import _get_layout as _get_layout
from . import _moved_modules as _moved_modules
from ._allowed import add_safe_globals as add_safe_globals
from ._allowed import clear_safe_globals as clear_safe_globals
from ._allowed import get_safe_globals as get_safe_globals
from ._allowed import safe_globals as safe_globals
from ._load import load as load
from ._location import MAP_LOCATION as MAP_LOCATION
from ._location import default_restore_location as default_restore_location
from ._location import location_tag as location_tag
from ._location import register_package as register_package
from ._location import validate_cuda_device as validate_cuda_device
from ._options import LoadEndianness as LoadEndianness
from ._options import (
    check_module_version_greater_or_equal as check_module_version_greater_or_equal,
)
from ._options import get_crc32_options as get_crc32_options
from ._options import get_default_load_endianness as get_default_load_endianness
from ._options import get_default_mmap_options as get_default_mmap_options
from ._options import set_crc32_options as set_crc32_options
from ._options import set_default_load_endianness as set_default_load_endianness
from ._options import set_default_mmap_options as set_default_mmap_options
from ._options import skip_data as skip_data
from ._records import _open_file_like as _open_file_like
from ._records import _open_zipfile_reader as _open_zipfile_reader
from ._records import _open_zipfile_writer as _open_zipfile_writer
from ._refusals import SourceChangeWarning as SourceChangeWarning
from ._safe_unpickler import (
    get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
)
from ._save import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from ._save import save as save
from ._zip_reader import is_zip as _is_zipfile  # noqa: F401 - PyTorch's own name
