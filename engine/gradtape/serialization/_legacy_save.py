"""The format before PyTorch 1.6: several pickles in a row, then the raw storages."""

from __future__ import annotations

import struct
import sys
from typing import Any

from ._pickler import content, dump

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

_SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def legacy_save(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write an object in the old format: header, pickle, keys, then each storage."""
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle_module.dump(part, file, protocol=protocol)
    pickled, table = dump(obj, pickle_module, protocol, legacy=True)
    file.write(pickled)
    keys = sorted(table.storages)
    pickle_module.dump(keys, file, protocol=protocol)
    file.flush()
    for key in keys:
        storage = table.storages[key]
        file.write(struct.pack("<q", storage.nbytes() // table.item_sizes[key]))
        file.write(content(storage))
