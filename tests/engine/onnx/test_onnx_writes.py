"""Writes in place and views become values of the graph; programs are exported whole."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradtape as torch
import gradtape.nn.functional as F
from gradtape import nn
from gradtape.onnx import OnnxExporterError

pytest.importorskip("onnxruntime")

from gradtape.utils.checkpoint import checkpoint
from gradviz.running.engine_alias import alias

from ._onnx_runs import assert_same, exported

PROGRAMS = Path(__file__).parents[2] / "programs"


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def column_set_to_a_number(x: Any) -> Any:
    y = x * 1
    y[:, 0] = 5.0
    return y


def columns_written_and_read(x: Any) -> Any:
    y = x.clone()
    y[:, 0] = x[:, 1]
    y[:, 1:].mul_(2)
    return y, y.sum(1)


def filled_column_by_column(x: Any) -> Any:
    out = torch.zeros(x.shape)
    for i in range(3):
        out[:, i] = x[:, i] * i
    return out


def written_through_a_flat_view(x: Any) -> Any:
    y = x * 1
    flat = y.view(-1)
    flat.add_(1)
    return y, flat


def read_through_an_older_view(x: Any) -> Any:
    y = x * 1
    row, rows = y[:, 1], y[:, 1:]
    y.mul_(3)
    return row, rows


def written_through_a_detached_alias(x: Any) -> Any:
    y = x * 1
    y.detach().mul_(3)
    return y


def input_written(x: Any) -> Any:
    x.add_(1)
    return x * 2


def fresh_mask_cut(x: Any) -> Any:
    mask = torch.full((x.size(0), x.size(0)), float("-inf"))
    mask.triu_(1)
    return mask, x


class Doubled(torch.autograd.Function):
    """A user's function."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2 + 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def a_users_function(x: Any) -> Any:
    return Doubled.apply(x)


def checkpointed(x: Any) -> Any:
    return checkpoint(torch.sin, x, use_reentrant=False)


def the_same_output_twice(x: Any) -> Any:
    y = x + 1
    return y, y, x


def a_constant_output(x: Any) -> Any:
    return torch.ones(3), x + 1


ANY_BATCH = (
    column_set_to_a_number,
    columns_written_and_read,
    filled_column_by_column,
    written_through_a_flat_view,
    read_through_an_older_view,
    written_through_a_detached_alias,
    input_written,
    fresh_mask_cut,
    a_users_function,
    checkpointed,
    the_same_output_twice,
    a_constant_output,
)


@pytest.mark.parametrize("function", ANY_BATCH, ids=lambda f: f.__name__)
def test_a_function_runs_in_onnxruntime_at_two_batch_sizes(function: Any):
    torch.manual_seed(0)
    model, x = Calls(function), torch.randn(2, 3, 4)
    program = exported(model, (x,), {0: "n"})
    assert_same(program, model, (x.clone(),), (torch.randn(5, 3, 4),))


def written_every_other(x: Any) -> Any:
    y = x * 1
    y[:, ::2, 1:3] = x[:, :2, :2]
    return y.transpose(0, 1), y[0]


def indexed_write(x: Any) -> Any:
    out = x.new_zeros(2, 3, 4)
    out[:, [0, 2]] = x[:, [0, 1]]
    return out


def shape_changed_in_place(x: Any) -> Any:
    y = x * 1
    y.unsqueeze_(0)
    y.squeeze_(0)
    y.transpose_(0, 1)
    return y


def scattered(x: Any) -> Any:
    index = torch.zeros(2, 1, 4).long()
    return x.scatter(1, index, 9.0), x.scatter_add(1, index, x), x.gather(1, index)


@pytest.mark.parametrize(
    "function",
    [written_every_other, indexed_write, shape_changed_in_place, scattered],
    ids=lambda f: f.__name__,
)
def test_a_function_of_fixed_shape_runs_in_onnxruntime(function: Any):
    torch.manual_seed(0)
    model, x = Calls(function), torch.randn(2, 3, 4)
    assert_same(exported(model, (x,)), model, (x,), (x * 2,))


# ---- programs ----


def names_of(program: str) -> dict[str, Any]:
    """Run a script's definitions, with gradtape as torch."""
    with alias("torch", "gradtape"):
        return runpy.run_path(str(PROGRAMS / f"{program}.py"), run_name="program")


def test_a_small_resnet():
    torch.manual_seed(0)
    model = names_of("small_resnet")["SmallResNet"]()
    pictures, more = torch.randn(2, 3, 16, 16), torch.randn(7, 3, 16, 16)
    model(pictures)  # running statistics that are not the first ones
    assert_same(exported(model, (pictures,), {0: "n"}), model, (pictures,), (more,))


def test_a_character_transformer_of_any_length():
    torch.manual_seed(0)
    names = names_of("char_transformer")
    letters = len(names["LETTERS"])
    model = names["CharTransformer"](letters)
    codes = [torch.randint(0, letters, size) for size in ((2, 9), (5, 17), (1, 1))]
    program = exported(model, codes[:1], {0: "batch", 1: "time"})
    assert_same(program, model, *[(c,) for c in codes])


class Mean(nn.Module):
    """A VAE that decodes the mean of the code."""

    def __init__(self, vae: Any) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, pictures: Any) -> Any:
        mean = self.vae.mean(self.vae.encoder(pictures))
        return self.vae.decoder(mean), mean


class Drawn(Mean):
    """A VAE that decodes a code that it draws."""

    def forward(self, pictures: Any) -> Any:
        return self.vae(pictures)[0]


def test_a_vae_at_its_mean():
    torch.manual_seed(0)
    model = Mean(names_of("vae")["VAE"]())
    pictures, more = torch.rand(2, 1, 16, 16), torch.rand(5, 1, 16, 16)
    assert_same(exported(model, (pictures,), {0: "n"}), model, (pictures,), (more,))


def test_a_vae_draws_in_the_runtime():
    model = Drawn(names_of("vae")["VAE"]())
    program = exported(model, (torch.rand(2, 1, 16, 16),), {0: "n"})
    assert program is not None
    (first,) = program(torch.rand(4, 1, 16, 16))
    assert first.shape == (4, 1, 16, 16)
    kinds = {node.op_type for node in program.model_proto.graph.node}
    assert "RandomNormalLike" in kinds


# ---- several dynamic axes ----


class Pictures(nn.Module):
    """Convolutions over pictures of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm = nn.BatchNorm2d(8)
        self.grow = nn.ConvTranspose2d(8, 3, 2, 2)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.conv(x)).relu()
        wide = F.interpolate(self.pool(y), size=y.shape[-2:], mode="bilinear")
        rows = y.flatten(2).transpose(1, 2)
        return self.grow(y), (y + wide).mean((2, 3)), rows, F.interpolate(y, None, 2)


def test_pictures_of_any_size():
    torch.manual_seed(0)
    model, picture = Pictures(), torch.randn(1, 3, 16, 20)
    program = exported(model, (picture,), {0: "n", 2: "height", 3: "width"})
    others = torch.randn(3, 3, 24, 28), torch.randn(2, 3, 33, 17)
    assert_same(program, model, (picture,), *[(x,) for x in others])


class Causal(nn.Module):
    """Self-attention under a mask of the longest length, sliced to the input's."""

    longest = 16

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.places = nn.Embedding(self.longest, 8)
        self.qkv = nn.Linear(8, 24)
        mask = torch.ones(self.longest, self.longest).tril()
        self.register_buffer("mask", mask)

    def forward(self, codes: Any) -> Any:
        batch, time = codes.shape
        if time > self.longest:
            raise ValueError("too long")
        x = self.embed(codes) + self.places(torch.arange(time))
        parts = self.qkv(x).split(8, dim=2)
        q, k, v = (p.view(batch, time, 2, -1).transpose(1, 2) for p in parts)
        weights = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        weights = weights.masked_fill(self.mask[:time, :time] == 0, float("-inf"))
        found = weights.softmax(-1) @ v
        return found.transpose(1, 2).contiguous().view(batch, time, -1)[:, [-1], :]


@pytest.mark.parametrize("shape", [(1, 16), (2, 1), (3, 7)], ids=str)
def test_a_causal_model_of_any_length_up_to_its_longest(shape: tuple[int, int]):
    torch.manual_seed(0)
    model, codes = Causal(), torch.randint(0, 11, shape)
    program = exported(model, (codes,), {0: "batch", 1: "time"})
    others = [torch.randint(0, 11, size) for size in ((3, 5), (1, 1), (2, 16))]
    assert_same(program, model, (codes,), *[(c,) for c in others])


def another_op_for_one_row(x: Any) -> Any:
    return x.sin() if len(x) == 1 else x.cos()


def test_an_example_that_is_no_example_of_the_rest_is_refused():
    with pytest.raises(OnnxExporterError, match="the model calls other ops"):
        exported(Calls(another_op_for_one_row), (torch.ones(1, 3),), {0: "n"})


class Padded(nn.Module):
    """An encoder that is told what is padding."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, x: Any, padding: Any) -> Any:
        return self.encoder(x, src_key_padding_mask=padding)


def test_an_encoder_with_padding_differs_in_the_padding_only():
    torch.manual_seed(0)
    model, x = Padded().eval(), torch.randn(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    program = exported(model, (x, padding), {0: "n", 1: "time"})
    assert program is not None
    (found,) = program(x, padding)
    wanted = model(x, padding)
    assert torch.allclose(found[~padding], wanted[~padding], atol=1e-5)
    assert model.encoder.use_nested_tensor
    whole = torch.randn(3, 7, 8), torch.zeros(3, 7).bool()
    assert_same(program, model, whole)
