"""The bundled digits: the right numbers, and one clear sentence when they are not."""

from __future__ import annotations

import gzip
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from gradviz.demo import digits
from gradviz.errors import GradvizError


def test_every_digit_of_the_data_set_is_there():
    data = digits.load()
    labels = np.concatenate([data.train_labels, data.test_labels])
    expected = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(labels).tolist() == expected


def test_images_hold_the_published_ink():
    data = digits.load()
    images = np.concatenate([data.train_images, data.test_images])
    assert images.shape == (1797, 1, 8, 8)
    assert images.dtype == np.float32
    assert images.min() == 0
    assert images.max() == 1
    assert float(images.sum(dtype=np.float64) * 16) == 561_718


def test_labels_belong_to_their_images():
    """The average zero has an empty middle, the average one a full one."""
    data = digits.load()
    middle = data.train_images[:, 0, 3:5, 3:5].mean(axis=(1, 2))
    assert middle[data.train_labels == 0].mean() < 0.2
    assert middle[data.train_labels == 1].mean() > 0.7


def test_held_out_images_are_never_trained_on():
    data = digits.load()
    trained = {image.tobytes() for image in data.train_images}
    assert not any(image.tobytes() in trained for image in data.test_images)


def test_the_split_is_the_same_every_time():
    first, second = digits.load(), digits.load()
    assert np.array_equal(first.train_images, second.train_images)
    assert np.array_equal(first.test_labels, second.test_labels)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"not gzip", "cannot be read"),
        (gzip.compress(b"1,2,3\n"), "checksum differs"),
        (None, "cannot be read"),
    ],
    ids=["damaged", "other data", "missing"],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes | None, sentence: str):
    file = tmp_path / "digits.csv.gz"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(GradvizError, match=sentence) as caught:
        digits.load(file)
    assert str(file) in str(caught.value)


def test_a_truncated_file_is_named(tmp_path: Path):
    bundled = resources.files("gradviz.demo") / "data" / "digits.csv.gz"
    file = tmp_path / "digits.csv.gz"
    file.write_bytes(bundled.read_bytes()[:4_000])
    with pytest.raises(digits.DigitsError, match="cannot be read"):
        digits.load(file)


def test_attribution_and_licence_stand_beside_the_data():
    folder = resources.files("gradviz.demo") / "data"
    assert "10.24432/C50P49" in (folder / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in (folder / "LICENSE").read_text(encoding="utf-8")
