"""``gradviz.summary``: its numbers, by hand, and a model that stays as it was."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gradviz


def fingerprint(lib: Any, model: Any) -> dict[str, Any]:
    """Return all that a forward pass could change, as bytes and plain values."""
    found: dict[str, Any] = {
        name: tensor.detach().numpy().tobytes()
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]
    }
    for path, module in model.named_modules():
        hooks = len(module._forward_hooks) + len(module._forward_pre_hooks)
        plain = {k: v for k, v in vars(module).items() if isinstance(v, int | float)}
        found[f"{path} as it is"] = module.training, hooks, plain, sorted(vars(module))
    found["random"] = (
        lib.get_rng_state().numpy().tobytes(),
        random.getstate(),
        np.random.get_state()[1].tobytes(),  # type: ignore[union-attr]
    )
    found["gradients"] = [parameter.grad for parameter in model.parameters()]
    return found


def changing(lib: Any) -> Any:
    """A model whose forward changes all that can be put back."""

    class Changing(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = lib.nn.BatchNorm1d(4)
            self.drop = lib.nn.Dropout(0.5)
            self.register_buffer("seen", lib.zeros(1))
            self.turns = 0

        def forward(self, x: Any) -> Any:
            self.turns += 1
            self.last = x
            self.seen = self.seen + 1
            with lib.no_grad():
                self.norm.weight.mul_(0.5)
            random.random()
            np.random.rand()
            return self.drop(self.norm(x.mul_(2.0)))

    return Changing()


def test_a_model_stays_bit_equal(lib: Any):
    model, x = changing(lib), lib.ones(3, 4)
    buffers = dict(model.named_buffers())
    before = fingerprint(lib, model)
    found = gradviz.summary(model, x)
    assert fingerprint(lib, model) == before
    assert x.tolist() == lib.ones(3, 4).tolist()
    assert all(buffers[name] is each for name, each in model.named_buffers())
    assert found.total.calls == 1


def test_the_fingerprint_notices_a_forward_pass(lib: Any):
    model = changing(lib)
    before = fingerprint(lib, model)
    model(lib.ones(3, 4))
    after = fingerprint(lib, model)
    assert sorted(key for key in before if before[key] != after[key]) == [
        " as it is",
        "norm.num_batches_tracked",
        "norm.running_mean",
        "norm.running_var",
        "norm.weight",
        "random",
        "seen",
    ]


def test_a_model_that_raises_stays_bit_equal_and_raises(lib: Any):
    model = changing(lib)
    before = fingerprint(lib, model)
    with pytest.raises((RuntimeError, ValueError)):
        gradviz.summary(model, lib.ones(3, 5))
    assert fingerprint(lib, model) == before


def test_a_graph_of_the_program_can_still_run_backward(lib: Any):
    model, x = lib.nn.BatchNorm1d(4), lib.randn(3, 4)
    loss = model(x).pow(2).sum()
    gradviz.summary(model, x)
    loss.backward()
    assert model.weight.grad is not None


# ---- operations, by hand -------------------------------------------------------------


def flops(model: Any, *inputs: Any) -> int | None:
    return gradviz.summary(model, *inputs).total.flops


def test_flops_of_linear_layers(lib: Any):
    assert flops(lib.nn.Linear(6, 5), lib.randn(3, 4, 6)) == 2 * 3 * 4 * 6 * 5


def test_flops_of_convolutions(lib: Any):
    nn = lib.nn
    grouped = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)
    assert flops(grouped, lib.randn(2, 4, 8, 8)) == 2 * (2 * 6 * 4 * 4) * (2 * 3 * 3)
    assert flops(nn.Conv1d(3, 3, 5), lib.randn(1, 3, 9)) == 2 * (3 * 5) * (3 * 5)


@pytest.mark.parametrize("channels", [(2, 3), (3, 3)])
def test_flops_of_transposed_convolutions(lib: Any, channels: tuple[int, int]):
    taken, given = channels
    layer = lib.nn.ConvTranspose2d(taken, given, 3, stride=2)
    x = lib.randn(1, taken, 5, 5)
    assert flops(layer, x) == 2 * (taken * 25) * (given * 9)


def test_flops_of_attention(lib: Any):
    batch, queries, keys, width = 2, 5, 7, 8
    layer = lib.nn.MultiheadAttention(width, 2, batch_first=True)
    q, kv = lib.randn(batch, queries, width), lib.randn(batch, keys, width)
    projections = 2 * batch * (2 * queries + 2 * keys) * width * width
    products = 2 * 2 * batch * queries * keys * width
    assert flops(layer, q, kv, kv) == projections + products


def test_flops_of_recurrent_layers(lib: Any):
    steps, batch, taken, hidden = 3, 2, 4, 6
    x = lib.randn(steps, batch, taken)
    first, second = (taken + hidden) * hidden, 2 * hidden * hidden
    assert flops(lib.nn.LSTM(taken, hidden, 2), x) == (
        2 * steps * batch * 4 * (first + second)
    )
    assert flops(lib.nn.GRUCell(taken, hidden), x[0]) == 2 * batch * 3 * first


class Equation:
    """What ``einsum`` and the products compute, as layers without parameters."""

    def __new__(cls, lib: Any, function: Any) -> Any:
        class Layer(lib.nn.Module):
            def forward(self, *given: Any) -> Any:
                return function(*given)

        return Layer()


def attention(lib: Any, *given: Any) -> Any:
    return lib.nn.functional.scaled_dot_product_attention(*given)


PRODUCTS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "matmul": (lambda lib, a, b: a @ b, [(2, 3, 4), (4, 5)]),
    "baddbmm": (
        lambda lib, c, a, b: lib.baddbmm(c, a, b),
        [(2, 3, 5), (2, 3, 4), (2, 4, 5)],
    ),
    "tensordot": (
        lambda lib, a, b: lib.tensordot(a, b, dims=([2, 0], [1, 0])),
        [(2, 3, 4), (2, 4, 5)],
    ),
    "einsum": (
        lambda lib, a, b: lib.einsum("bhqd,bhkd->bhqk", a, b),
        [(2, 3, 4, 5), (2, 3, 6, 5)],
    ),
    "implicit": (lambda lib, a, b: lib.einsum("ij,jk", a, b), [(2, 3), (3, 4)]),
    "outer": (lambda lib, a, b: lib.einsum("i,j->ij", a, b), [(2,), (3,)]),
    "chain": (
        lambda lib, *given: lib.linalg.multi_dot(given),
        [(2, 30), (30, 4), (4, 50)],
    ),
    "attention": (attention, [(2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 5)]),
    "elements": (lambda lib, a, b: a * b + a.exp(), [(2, 3), (2, 3)]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_flops_agree_with_the_counter_of_pytorch(lib: Any, name: str):
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    function, shapes = PRODUCTS[name]
    with FlopCounterMode(display=False) as counter:
        function(torch, *[torch.randn(shape) for shape in shapes])
    model = Equation(lib, lambda *given: function(lib, *given))
    inputs = [lib.randn(shape) for shape in shapes]
    assert flops(model, *inputs) == counter.get_total_flops()


def test_flops_of_products_that_pytorch_does_not_count(lib: Any):
    vector = Equation(lib, lib.mv)
    assert flops(vector, lib.randn(3, 4), lib.randn(4)) == 2 * 3 * 4
    summed = Equation(lib, lib.addbmm)
    given = [lib.randn(shape) for shape in ((3, 5), (2, 3, 4), (2, 4, 5))]
    assert flops(summed, *given) == 2 * 2 * 3 * 4 * 5


def test_flops_that_are_not_known_are_not_guessed(lib: Any):
    model = Equation(lib, lambda a, b: lib.einsum("...j,jk->...k", a, b))
    found = gradviz.summary(model, lib.randn(2, 3), lib.randn(3, 4))
    assert found.total.flops is None
    assert " ? " in found.to_text().splitlines()[1]


def test_code_in_no_file_has_no_known_operations():
    text = "found = gradviz.summary(torch.nn.Conv1d(1, 1, 2), torch.ones(1, 1, 3))"
    code = f"import gradviz, gradtape as torch\n{text}\nprint(found)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert " ? " in done.stdout.splitlines()[1]
    assert done.stdout.endswith("in no file, as of `python -c`.\n")


# ---- parameters, memory, the tree ----------------------------------------------------


def shared_model(lib: Any) -> Any:
    nn = lib.nn

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
            self.again = self.layers[0]
            self.tied = nn.Linear(4, 4)
            self.tied.weight = self.layers[1].weight
            self.unused = nn.Linear(3, 3)
            self.head = nn.Linear(4, 2)
            self.head.requires_grad_(False)

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return {"out": self.head(self.tied(self.again(x)))}

    return Shared()


def test_each_module_and_parameter_is_counted_once(lib: Any):
    model = shared_model(lib)
    found = gradviz.summary(model, lib.randn(2, 4))
    total = found.total
    assert total.parameters == sum(each.numel() for each in model.parameters())
    assert (total.trainable, total.frozen) == (20 + 20 + 4 + 12, 10)
    assert total.flops == 2 * 2 * (4 * 4 * 4 + 4 * 2)
    inside = [each for each in found.layers if each.depth == 1]
    assert sum(each.parameters for each in inside) == total.parameters
    assert sum(each.flops or 0 for each in inside) == total.flops
    notes = {each.path: each.note for each in found.layers if each.note}
    assert notes == {
        "layers.0": "2 calls",
        "again": "is layers.0",
        "tied": "weight is layers.1.weight",
        "unused": "never called",
    }
    assert found["layers.0"].flops == 2 * 2 * 2 * 16
    assert found["head"].outputs == ((2, 2),)
    with pytest.raises(KeyError):
        found["nothing"]


def test_memory_is_that_of_storages_which_derivatives_keep(lib: Any):
    nn = lib.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
    found = gradviz.summary(model, lib.randn(16, 4))
    # The input; what relu gave, which the second layer keeps too; what sigmoid gave.
    assert [found[str(at)].kept_bytes for at in range(4)] == [256, 512, 0, 64]
    assert found.total.kept_bytes == 256 + 512 + 64
    model.requires_grad_(False)
    assert gradviz.summary(model, lib.randn(16, 4)).total.kept_bytes == 0


def test_memory_is_what_the_ledger_finds(lib: Any):
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()
    )
    x = lib.randn(2, 1, 6, 6)
    model.eval()  # then the statistics are buffers, in both
    found = gradviz.summary(model, x).total.kept_bytes
    book = gradviz.ledger(model(x).sum())
    buffers = sum(
        each.numel() * 4 for each in (model[1].running_mean, model[1].running_var)
    )
    assert found == book.kept_bytes - book.parameter_bytes - buffers


def test_a_part_whose_parameters_another_uses_is_told_apart(lib: Any):
    layer = lib.nn.MultiheadAttention(8, 2)
    x = lib.randn(3, 1, 8)
    found = gradviz.summary(layer, x, x, x)
    assert found["out_proj"].note == "not called, its parameters are used"


def test_a_model_that_calls_itself_is_counted_once(lib: Any):
    class Deep(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = lib.nn.Linear(4, 4)

        def forward(self, x: Any, left: int = 2) -> Any:
            x = self.layer(x)
            return self(x, left - 1) if left else x

    found = gradviz.summary(Deep(), lib.randn(1, 4))
    assert (found.total.calls, found["layer"].calls) == (3, 3)
    assert found.total.flops == found["layer"].flops == 3 * 2 * 16


def test_text_has_aligned_columns_and_stops_at_a_depth(lib: Any):
    found = gradviz.summary(shared_model(lib), lib.randn(2, 4))
    lines = found.to_text().splitlines()
    assert lines[1].startswith("Shared ")
    assert lines[2].startswith("  layers ModuleList")
    assert lines[3].startswith("    0 Linear")
    end = lines[0].index("FLOPs") + len("FLOPs")
    assert [line[:end].split()[-1] for line in (lines[1], lines[3])] == ["288", "128"]
    assert lines[-1] == "66 parameters: 56 trainable, 10 frozen."
    shallow = found.to_text(depth=1).splitlines()
    assert not any(line.startswith("    ") for line in shallow)
    assert "… 5 more rows" in found.to_text(limit=3)
    assert repr(found) == found.to_text(limit=200)


def test_html_is_a_table_and_escapes_names(lib: Any):
    class Odd(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    Odd.__name__ = "<b>"
    model = lib.nn.Sequential(Odd())
    page = gradviz.summary(model, lib.ones(1))._repr_html_()
    assert page.startswith("<table>")
    assert "&lt;b&gt;" in page and "<b>" not in page  # noqa: PT018


def test_times_add_up(lib: Any):
    nn = lib.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    found = gradviz.summary(model, lib.randn(64, 64))
    inside = [found["0"].elapsed_ns, found["1"].elapsed_ns]
    assert all(each for each in inside)
    assert sum(each or 0 for each in inside) <= (found.total.elapsed_ns or 0)


def test_what_is_no_model_is_refused(lib: Any):
    with pytest.raises(gradviz.CaptureError, match="expected a module"):
        gradviz.summary(lib.ones(2))
    with pytest.raises(gradviz.CaptureError, match="lazy"):
        gradviz.summary(lib.nn.LazyLinear(3), lib.ones(2, 2))


def test_a_summary_stays_out_of_a_recording(lib: Any, engine: Any):
    model, x = lib.nn.Linear(2, 1), lib.ones(1, 2)
    with gradviz.record(engine=engine) as recorder:
        gradviz.summary(model, x)
        model(x).sum().backward()
    assert [node.name for node in recorder.snapshot().nodes].count(
        "AddmmBackward0"
    ) == 1


def test_models_without_data_are_summarized_too(lib: Any):
    model = lib.nn.Linear(1000, 1000, device="meta")
    found = gradviz.summary(model, lib.empty(4, 1000, device="meta"))
    assert (found.total.parameters, found.total.flops) == (1_001_000, 8_000_000)
    assert found.total.kept_bytes == 16_000


def test_a_scripted_model_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.warns(DeprecationWarning, match="script"):
        scripted = torch.jit.script(torch.nn.Linear(2, 1))
    with pytest.raises(gradviz.CaptureError, match="scripted"):
        gradviz.summary(scripted, torch.ones(1, 2))
