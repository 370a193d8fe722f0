"""Files go both ways: what one engine writes, the other reads as what it was."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_close, describe
from ._files import loaded, saved

torch = pytest.importorskip("torch")

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16"),
    *("float32", "float64", "complex64", "complex128"),
)
ENGINES = {"gradtape": gradtape, "torch": torch}
WAYS = [("gradtape", "torch"), ("torch", "gradtape"), ("gradtape", "gradtape")]
BOTH_FORMATS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
EVERY_WAY = pytest.mark.parametrize(
    ("writer", "reader"), WAYS, ids=[f"{writer}-to-{reader}" for writer, reader in WAYS]
)


def every_dtype(t: Any) -> Any:
    return {name: t.ones(2, 3).to(getattr(t, name)) for name in DTYPES}


def strided_views(t: Any) -> Any:
    x = t.arange(24.0).reshape(2, 3, 4)
    return [x, x[1], x[:, 1:, ::2], x.transpose(0, 2), x[0, 0].expand(5, 4)]


def empty_and_scalar(t: Any) -> Any:
    return [t.empty(0), t.empty(2, 0, 3), t.tensor(3.5), t.tensor(7)]


def parameters(t: Any) -> Any:
    frozen = t.nn.Parameter(t.ones(2), requires_grad=False)
    return [t.nn.Parameter(t.arange(3.0)), frozen, t.ones(2, requires_grad=True)]


def attributes(t: Any) -> Any:
    x = t.nn.Parameter(t.arange(3.0))
    x.tag = "kept"
    return x


def result_of_a_graph(t: Any) -> Any:
    return t.arange(3.0, requires_grad=True) * 2


def sparse(t: Any) -> Any:
    x = t.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    return [x, x.coalesce()]


def plain_values(t: Any) -> Any:
    return {
        "none": None,
        "ints": [0, -1, 255, 256, 65536, -(2**31), 2**40, -(2**70)],
        "floats": [0.5, float("inf"), -0.0],
        "text": ["", "é", "\N{GRINNING FACE}", "x" * 300],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "flags": (True, False),
        "complex": 2 - 3j,
        "nested": {1: {2: [{}]}},
    }


def bytes_and_sets(t: Any) -> Any:
    return [b"a\xff", bytearray(b"x\x80"), {1, 2}, Counter("aab")]


def torch_values(t: Any) -> Any:
    return [t.Size([2, 3]), t.device("cpu"), t.float32, t.bfloat16, t.bool, t.strided]


def storages(t: Any) -> Any:
    x = t.arange(3.0)
    return [x, x[1:], x.untyped_storage().nbytes()]


def state_dict(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4))
    found = model.state_dict()
    return {name: t.full_like(value, 2) for name, value in found.items()}


def checkpoint(t: Any) -> Any:
    weight = t.nn.Parameter(t.arange(4.0))
    optimizer = t.optim.AdamW([weight], lr=0.1)
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        weight.grad = t.ones(4)
        optimizer.step()
        scheduler.step()
    return {
        "epoch": 3,
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "random": t.Generator().manual_seed(5).get_state(),
    }


CASES = [
    *(every_dtype, strided_views, empty_and_scalar, parameters, attributes, sparse),
    *(result_of_a_graph, plain_values, bytes_and_sets, torch_values, storages),
    *(state_dict, checkpoint),
]


@EVERY_WAY
@BOTH_FORMATS
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_what_is_read_is_what_was_written(
    make: Callable[[Any], Any], zipped: bool, writer: str, reader: str
):
    content = saved(
        ENGINES[writer],
        make(ENGINES[writer]),
        _use_new_zipfile_serialization=zipped,
    )
    wanted = describe(loaded(torch, content))
    assert_close(describe(loaded(ENGINES[reader], content)), wanted, 0, "loaded")
    unsafe = loaded(ENGINES[reader], content, weights_only=False)
    assert_close(describe(unsafe), wanted, 0, "loaded without weights_only")


@EVERY_WAY
@BOTH_FORMATS
def test_views_that_shared_memory_share_it_again(
    zipped: bool, writer: str, reader: str
):
    content = saved(
        ENGINES[writer],
        strided_views(ENGINES[writer]),
        _use_new_zipfile_serialization=zipped,
    )
    whole, *views = loaded(ENGINES[reader], content)
    whole.fill_(-1)
    assert [view.unique().tolist() for view in views] == [[-1.0]] * 4
    assert len({t.untyped_storage().data_ptr() for t in (whole, *views)}) == 1


@EVERY_WAY
def test_unsigned_integers_without_a_storage_class_of_their_own(
    writer: str, reader: str
):
    t = ENGINES[writer]
    given = [t.ones(3, dtype=d) for d in (t.uint16, t.uint32, t.uint64)]
    found = loaded(ENGINES[reader], saved(t, [given, given[0][1:]]))
    assert_close(describe(found[0]), describe(given), 0, "loaded")
    assert found[1].untyped_storage().data_ptr() == found[0][0].data_ptr()


@EVERY_WAY
def test_the_module_versions_of_a_state_dict_travel(writer: str, reader: str):
    model = ENGINES[writer].nn.BatchNorm1d(3)
    found = loaded(ENGINES[reader], saved(ENGINES[writer], model.state_dict()))
    assert type(found) is OrderedDict
    assert found._metadata == {"": {"version": 2}}
    ENGINES[reader].nn.BatchNorm1d(3).load_state_dict(found)


LAYERS = {
    "linear": lambda t: t.nn.Linear(3, 2),
    "convolution": lambda t: t.nn.Conv2d(1, 2, 3, padding="same"),
    "norm": lambda t: t.nn.BatchNorm2d(3),
    "instance norm": lambda t: t.nn.InstanceNorm1d(3, affine=True),
    "lstm": lambda t: t.nn.LSTM(3, 4, num_layers=2),
    "cell": lambda t: t.nn.GRUCell(3, 4),
    "embedding": lambda t: t.nn.Embedding(5, 3, padding_idx=0),
    "attention": lambda t: t.nn.MultiheadAttention(4, 2),
    "encoder": lambda t: t.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"),
    "lists": lambda t: t.nn.ModuleList([t.nn.ReLU(), t.nn.Flatten(), t.nn.Dropout()]),
    "parameters": lambda t: t.nn.ParameterDict({"w": t.ones(2)}),
    "loss": lambda t: t.nn.CrossEntropyLoss(weight=t.ones(3), label_smoothing=0.1),
    "linear loss": lambda t: t.nn.LinearCrossEntropyLoss(4, 3),
    "lazy": lambda t: t.nn.LazyLinear(3),
    "pixels": lambda t: t.nn.Sequential(t.nn.PixelShuffle(2), t.nn.Upsample(3)),
}


@EVERY_WAY
@BOTH_FORMATS
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Lazy modules")
@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.filterwarnings("ignore:source code of class")
def test_whole_modules_go_both_ways(name: str, zipped: bool, writer: str, reader: str):
    module = LAYERS[name](ENGINES[writer]).eval()
    content = saved(ENGINES[writer], module, _use_new_zipfile_serialization=zipped)
    found = loaded(ENGINES[reader], content, weights_only=False)
    assert type(found).__module__.partition(".")[0] == reader
    assert repr(found) == repr(module)
    assert found.training is False
    if name != "lazy":
        state = {key: value.tolist() for key, value in module.state_dict().items()}
        again = {key: value.tolist() for key, value in found.state_dict().items()}
        assert again == state


@EVERY_WAY
def test_a_loaded_module_computes_as_before(writer: str, reader: str):
    model = ENGINES[writer].nn.Sequential(
        ENGINES[writer].nn.Conv2d(1, 2, 3),
        ENGINES[writer].nn.BatchNorm2d(2),
        ENGINES[writer].nn.ReLU(),
        ENGINES[writer].nn.Flatten(),
        ENGINES[writer].nn.Linear(18, 2),
    )
    found = loaded(ENGINES[reader], saved(ENGINES[writer], model), weights_only=False)
    wanted = model(ENGINES[writer].arange(50.0).sin().reshape(2, 1, 5, 5))
    got = found(ENGINES[reader].arange(50.0).sin().reshape(2, 1, 5, 5))
    got.sum().backward()
    assert_close(got.tolist(), wanted.tolist(), 1e-4, "output")
    assert found[0].weight.grad is not None


@EVERY_WAY
def test_whole_optimizers_and_functions_go_both_ways(writer: str, reader: str):
    t = ENGINES[writer]
    weight = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = t.ones(2)
    optimizer.step()
    content = saved(t, [weight, optimizer, t.nn.functional.relu, t.sin])
    other = ENGINES[reader]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept, again, relu, sin = loaded(other, content, weights_only=False)
    assert again.param_groups[0]["params"][0] is kept
    kept.grad = other.ones(2)
    again.step()
    assert_close(kept.tolist(), [0.71, 0.71], 1e-5, "after two steps")
    assert relu is other.nn.functional.relu
    assert sin is other.sin


@EVERY_WAY
def test_generators_go_on_where_they_were(writer: str, reader: str):
    generator = ENGINES[writer].Generator().manual_seed(3)
    ENGINES[writer].rand(5, generator=generator)
    content = saved(ENGINES[writer], generator)
    found = loaded(ENGINES[reader], content, weights_only=False)
    wanted = ENGINES[writer].rand(4, generator=generator).tolist()
    assert ENGINES[reader].rand(4, generator=found).tolist() == wanted
    assert found.initial_seed() == 3
