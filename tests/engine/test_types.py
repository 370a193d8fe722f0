"""The names that annotations use are PyTorch's."""

from __future__ import annotations

import typing

import pytest

import gradtape as gt


@pytest.mark.parametrize("name", ["Number", "FileLike", "_Number", "_bool", "_str"])
def test_names_of_plain_types_mean_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert getattr(gt.types, name) == getattr(torch.types, name)


def test_names_of_our_own_types_have_as_many_members() -> None:
    torch = pytest.importorskip("torch")
    for name in ("Device", "_size"):
        own, theirs = getattr(gt.types, name), getattr(torch.types, name)
        assert len(typing.get_args(own)) == len(typing.get_args(theirs))
    assert isinstance(gt.ones(1).untyped_storage(), gt.types.Storage)
