"""Plain pickles, copies and deep copies of everything a program may hand over."""

from __future__ import annotations

import collections
import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same
from ._files import loaded, record, saved

torch = pytest.importorskip("torch")


def again(value: Any, protocol: int = 2) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": again,
    "pickle 5": lambda value: again(value, 5),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


def leaves(t: Any) -> list[Any]:
    x = t.arange(6.0).reshape(2, 3)
    return [
        *(x, x.t(), t.empty(0, 2), t.tensor(3), t.ones(2, dtype=t.bfloat16)),
        *(t.ones(2, requires_grad=True), t.ones(2) == 1),
        *(t.ones(2, dtype=t.complex64), t.nn.Parameter(t.ones(2))),
        t.nn.Parameter(t.ones(2), requires_grad=False),
    ]


@EVERY_WAY
@pytest.mark.parametrize("index", range(len(leaves(gradtape))))
def test_tensors_and_parameters(way: str, index: int):
    def program(t: Any) -> Any:
        given = leaves(t)[index]
        found = WAYS[way](given)
        same = given.numel() and found.data_ptr() == given.data_ptr()
        return found, type(found).__name__, bool(same), found._version, found.is_leaf

    assert_same(program)


@EVERY_WAY
def test_attributes_gradients_and_views(way: str):
    def program(t: Any) -> Any:
        x = t.arange(4.0, requires_grad=True)
        (x * x).sum().backward()
        x.tag = [1]
        found = WAYS[way](x)
        view = WAYS[way](t.arange(6.0)[2:5])
        size = view.untyped_storage().nbytes()
        return found, found.tag, found.tag is x.tag, found.grad, view.stride(), size

    assert_same(program)


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_what_shared_memory(way: str):
    def program(t: Any) -> Any:
        x = t.arange(4.0)
        whole, part, twice = WAYS[way]([x, x[1:], x])
        whole.fill_(-1)
        return part.tolist(), twice is whole

    assert_same(program)


@EVERY_WAY
def test_results_of_graphs(way: str):
    def program(t: Any) -> Any:
        return WAYS[way](t.ones(2, requires_grad=True) * 2)

    assert_same(program)


@EVERY_WAY
def test_things_that_are_one_of_a_kind(way: str):
    t = gradtape
    for value in (t.float32, t.bool, t.complex64, t.strided, t.channels_last):
        assert WAYS[way](value) is value
    for value in (t.Size([2, 3]), t.device("cpu"), t.device("cuda", 1)):
        found = WAYS[way](value)
        assert (found, type(found)) == (value, type(value))


@EVERY_WAY
def test_storages(way: str):
    t = gradtape
    x = t.arange(3, dtype=t.int16)
    for given in (x.untyped_storage(), x._typed_storage()):
        found = WAYS[way](given)
        assert type(found) is type(given)
        assert found.tolist() == given.tolist()
        assert found.data_ptr() != given.data_ptr()


@EVERY_WAY
def test_generators(way: str):
    generator = gradtape.Generator().manual_seed(4)
    gradtape.randn(3, generator=generator)
    found = WAYS[way](generator)
    wanted = gradtape.randn(20, generator=generator).tolist()
    if found is not generator:
        assert gradtape.randn(20, generator=found).tolist() == wanted


@EVERY_WAY
def test_modules_and_optimizers(way: str):
    def program(t: Any) -> Any:
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh())
        optimizer = t.optim.Adam(model.parameters(), lr=0.1)
        model(t.arange(8.0).reshape(4, 2)).sum().backward()
        optimizer.step()
        twin, stepper = WAYS[way]([model, optimizer])
        stepper.step()
        inside = [
            p is q
            for p, q in zip(
                twin.parameters(), stepper.param_groups[0]["params"], strict=True
            )
        ]
        return repr(twin), twin.state_dict(), inside

    assert_same(program, rtol=1e-3)


@EVERY_WAY
def test_other_values(way: str):
    def program(t: Any) -> Any:
        values = [
            t.max(t.ones(2, 3), 0),
            t.nn.utils.rnn.pack_sequence([t.ones(2), t.zeros(1)]),
            t.nn.UninitializedParameter(),
            t.eye(2).to_sparse(),
        ]
        found = [WAYS[way](value) for value in values]
        return [type(each).__name__ for each in found], found[0], found[3]

    assert_same(program)


# ---- classes of the user ----


class Picture(gradtape.Tensor):
    """A subclass with attributes."""

    def new_empty(self, shape: Any) -> Any:
        return type(self)(gradtape.empty(shape))


class Slotted(Picture):
    """A subclass with a slot."""

    __slots__ = ("extra",)


class Stateful(gradtape.Tensor):
    """A subclass that says what its state is."""

    def __getstate__(self) -> Any:
        return {"name": "kept"}

    def __setstate__(self, state: Any) -> None:
        self.name_ = state["name"]


Point = collections.namedtuple("Point", "x y")


class Config:
    """A plain object with a state."""

    def __init__(self, size: int) -> None:
        self.size = size


@pytest.mark.parametrize("way", ["pickle", "pickle 5", "deepcopy"])
def test_subclasses_keep_class_and_state(way: str):
    picture = gradtape.ones(2).as_subclass(Picture)
    picture.title = "dawn"
    slotted = gradtape.ones(2).as_subclass(Slotted)
    slotted.extra = 5
    found = WAYS[way](picture)
    assert (type(found), found.title, found.tolist()) == (Picture, "dawn", [1, 1])
    found = WAYS[way](slotted)
    assert (type(found), found.extra) == (Slotted, 5)


def test_a_state_of_ones_own():
    found = again(gradtape.ones(2).as_subclass(Stateful))
    assert (type(found), found.name_) == (Stateful, "kept")


def test_files_name_only_what_the_user_allows():
    serialization = gradtape.serialization
    content = saved(gradtape, [Point(1, 2), Config(3)])
    assert sorted(serialization.get_unsafe_globals_in_checkpoint(_file(content))) == [
        f"{__name__}.Config",
        f"{__name__}.Point",
    ]
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global.*\.Point"):
        loaded(gradtape, content)
    with serialization.safe_globals([Point, Config]):
        point, config = loaded(gradtape, content)
        assert serialization.get_unsafe_globals_in_checkpoint(_file(content)) == []
    assert (point, config.size) == (Point(1, 2), 3)
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([Point, (Config, f"{__name__}.Config")])
    assert loaded(gradtape, content)[0] == Point(1, 2)
    assert set(serialization.get_safe_globals()) >= {Point}
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        loaded(gradtape, content)


def test_whole_modules_are_loaded_safely_where_their_classes_are_allowed():
    t = gradtape
    content = saved(torch, torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    named = t.serialization.get_unsafe_globals_in_checkpoint(_file(content))
    assert "torch.nn.modules.linear.Linear" in named
    classes = [t.nn.Sequential, t.nn.Linear, t.nn.ReLU]
    with t.serialization.safe_globals(classes):
        found = loaded(t, content)
    assert isinstance(found[0], t.nn.Linear)


@pytest.mark.parametrize(
    ("given", "error"),
    [([("a", "b", "c")], ValueError), ([(str, 3)], TypeError)],
    ids=["three", "no text"],
)
def test_lists_of_the_allowed_are_checked(given: Any, error: type[Exception]):
    content = {t: saved(t, 1) for t in (gradtape, torch)}

    def program(t: Any) -> Any:
        with t.serialization.safe_globals(given):
            return loaded(t, content[t][:]) and t.serialization.get_safe_globals()

    with gradtape.serialization.safe_globals(given), pytest.raises(error):
        loaded(gradtape, content[gradtape])


def test_files_name_things_as_pytorch_does():
    inside = record(saved(gradtape, [gradtape.nn.Linear(1, 1), Config(1)]), "data.pkl")
    assert b"ctorch.nn.modules.linear\nLinear\n" in inside
    assert b"gradtape" not in inside.replace(__name__.encode(), b"")


def test_plain_pickles_of_pytorch_name_a_function_that_is_here():
    function, (content,) = torch.arange(3.0)._typed_storage().__reduce__()
    assert function.__qualname__ == "_load_from_bytes"
    assert gradtape.storage._load_from_bytes(content).tolist() == [0, 1, 2]


def _file(content: bytes) -> Any:
    import io

    return io.BytesIO(content)
