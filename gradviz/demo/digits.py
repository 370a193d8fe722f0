"""The handwritten digits that the demo learns: 1,797 images of 8 × 8 pixels.

Attribution and licence stand beside the file, in ``data/README.md``.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

_SHA256 = "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
_BRIGHTEST = 16
_TRAIN_COUNT = 1_437  # four fifths; the rest is held out
_SPLIT_SEED = 0


class DigitsError(GradvizError):
    """The bundled digits are missing or damaged; the text says which."""


@dataclass(frozen=True, slots=True)
class Digits:
    """Images and the digits they show, split into a training and a held-out part."""

    train_images: NDArray[np.float32]  # (N, 1, 8, 8), 0 is paper and 1 is ink
    train_labels: NDArray[np.int64]  # (N,)
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load(file: Traversable | None = None) -> Digits:
    """Read the digits and split them, always in the same way.

    The images are shuffled before the split, because neighbours in the file were
    written by the same hand.

    Args:
        file: another copy of ``digits.csv.gz``; by default the bundled one.

    Raises:
        DigitsError: the file cannot be read, or is not the file that was bundled.

    Example:
        >>> digits = load()
        >>> digits.train_images.shape, digits.test_images.shape
        ((1437, 1, 8, 8), (360, 1, 8, 8))
    """
    rows = _read(file or resources.files("gradviz.demo") / "data" / "digits.csv.gz")
    images = (rows[:, :64].reshape(-1, 1, 8, 8) / _BRIGHTEST).astype(np.float32)
    labels = rows[:, 64].astype(np.int64)
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(rows))
    train, test = order[:_TRAIN_COUNT], order[_TRAIN_COUNT:]
    return Digits(images[train], labels[train], images[test], labels[test])


def _read(file: Traversable) -> NDArray[np.uint8]:
    """Return the table, one row an image: 64 pixels and the digit."""
    try:
        text = gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DigitsError(
            f"The digits cannot be read from {file}: {error}. Reinstall gradviz."
        ) from error
    if hashlib.sha256(text).hexdigest() != _SHA256:
        raise DigitsError(
            f"{file} is not the data that gradviz was released with (its checksum "
            "differs). Reinstall gradviz."
        )
    numbers = np.array(text.replace(b"\n", b",").rstrip(b",").split(b","))
    return numbers.astype(np.uint8).reshape(-1, 65)
