"""How large a snapshot may be; what exceeds it is refused before memory is asked for.

``docs/limits.md`` tells users the same numbers, and what a snapshot near them costs.
"""

from __future__ import annotations

from gradviz.errors import SnapshotError

MAX_FILE = 512 * 2**20  # bytes, in whichever form
MAX_HEADER = 256 * 2**20  # bytes: the texts of all tables
MAX_BYTES = 2**30  # of columns, inflated
MAX_ROWS = 10_000_000  # of all tables together: about 260 bytes each, as records
MAX_LISTS = 3 * MAX_ROWS  # and objects, of a JSON document
MAX_PIXELS = 1024  # of a thumbnail
MAX_DEPTH = 16  # of JSON; ours is six deep

# What a file may claim grows with its size, so that a small one stays cheap whatever
# it says. In recordings a row takes 5 bytes or more, deflated, and a byte of the file
# inflates to 4 to 13; but the ranks of a training may be alike, and then deflate well.
_FREE_ROWS, _ROWS_PER_BYTE = 1_000_000, 2
_FREE_BYTES, _MOST_INFLATED = 64 * 2**20, 256
_FREE_HEADER, _MOST_HEADER = 8 * 2**20, 64


def check_file(nbytes: int) -> None:
    """Refuse a file that is larger than any recording."""
    if nbytes > MAX_FILE:
        raise SnapshotError(
            f"The snapshot is larger than {MAX_FILE // 2**20} MiB, which no recording "
            "is; it was not read."
        )


def check_rows(rows: int, file: int = MAX_FILE) -> None:
    """Refuse more rows than a file of so many bytes can honestly hold."""
    if rows > min(MAX_ROWS, _FREE_ROWS + file * _ROWS_PER_BYTE):
        raise SnapshotError(
            f"The snapshot claims {rows:,} rows, more than a file of its size "
            "holds; it was not read."
        )


def check_header(nbytes: int, file: int) -> None:
    """Refuse a header that is longer than a file of so many bytes can honestly hold."""
    if nbytes > min(MAX_HEADER, _FREE_HEADER + file * _MOST_HEADER):
        raise SnapshotError(
            f"The snapshot claims a header of {nbytes:,} bytes, more than a file of "
            "its size holds; it was not read."
        )


def check_bytes(nbytes: int, file: int) -> None:
    """Refuse columns that are longer than a file of so many bytes can honestly hold."""
    if nbytes > min(MAX_BYTES, _FREE_BYTES + file * _MOST_INFLATED):
        raise SnapshotError(
            f"The snapshot claims {nbytes:,} bytes of columns, more than a file of its "
            "size holds; it was not read."
        )
