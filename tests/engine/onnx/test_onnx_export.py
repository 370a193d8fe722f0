"""onnx.export: names, axes, files and modes; and the sentences of what is refused."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradtape as torch
from gradtape import nn
from gradtape.onnx import OnnxExporterError, ONNXProgram
from gradtape.onnx.errors import OnnxExporterWarning, UnsupportedOperatorError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from ._onnx_runs import assert_same, exported  # noqa: E402

X = torch.arange(12.0).reshape(4, 3)


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, scale: Any = None) -> Any:
        return self.function(x) if scale is None else self.function(x) * scale


def shape_of(value: Any) -> list[Any]:
    dims = value.type.tensor_type.shape.dim
    return [d.dim_param or d.dim_value for d in dims]


def graph_of(model: Any, args: Any, **options: Any) -> Any:
    program = torch.onnx.export(model, args, **options)
    assert program is not None
    return program.model_proto.graph


# ---- names and axes ----


def test_inputs_are_named_after_forward_and_weights_after_modules():
    graph = graph_of(nn.Sequential(nn.Linear(3, 2)), X)
    assert [i.name for i in graph.input] == ["input"]
    assert [o.name for o in graph.output] == ["output"]
    assert {i.name for i in graph.initializer} == {"0.weight", "0.bias"}
    assert [n.name for n in graph.node] == ["/0/Gemm"]


def test_names_that_the_user_gives():
    names = {"input_names": ["pixels"], "output_names": ["waves"]}
    graph = graph_of(Calls(torch.sin), (X,), **names)
    assert [i.name for i in graph.input] == ["pixels"]
    assert [o.name for o in graph.output] == ["waves"]


def test_keyword_arguments_and_numbers():
    model = Calls(torch.sin)
    graph = graph_of(model, (X,), kwargs={"scale": torch.ones(3)})
    assert [i.name for i in graph.input] == ["x", "scale"]
    graph = graph_of(model, (X, 2.5))
    assert [i.name for i in graph.input] == ["x"]
    graph = graph_of(model, (X, {"scale": torch.ones(3)}))
    assert [i.name for i in graph.input] == ["x", "scale"]


def test_axes_are_named_in_inputs_and_outputs():
    options: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    model = Calls(lambda x: torch.cat([x, x]))
    axes = {"x": {0: "batch"}, "y": {0: "double"}}
    graph = graph_of(model, (X,), dynamic_axes=axes, **options)
    assert shape_of(graph.input[0]) == ["batch", 3]
    assert shape_of(graph.output[0]) == ["double", 3]
    graph = graph_of(Calls(torch.sin), (X,), dynamic_axes={"x": [0]}, **options)
    assert shape_of(graph.output[0]) == ["x_dynamic_axes_1", 3]
    graph = graph_of(Calls(torch.sin), (X,), **options)
    assert shape_of(graph.output[0]) == [4, 3]


@pytest.mark.parametrize(
    "shapes",
    [{"x": {0: "n"}}, ({0: "n"},), [["n", None]]],
    ids=["dict", "tuple", "list"],
)
def test_dynamic_shapes_by_name_and_in_order(shapes: Any):
    graph = graph_of(Calls(torch.sin), (X,), dynamic_shapes=shapes)
    assert shape_of(graph.input[0]) == ["n", 3]


def test_two_axes_that_must_stay_equal():
    model = Calls(lambda x: x)
    program = torch.onnx.export(
        model,
        (X, X + 1),
        input_names=["x", "scale"],
        dynamic_axes={"x": {0: "a"}, "scale": {0: "b"}},
    )
    assert_same(program, model, (X, X), (X[:2], X[:2]))


def test_a_length_that_must_be_even():
    model = Calls(lambda x: x.view(2, -1, 3))
    program = exported(model, (X,), {0: "n"})
    assert_same(program, model, (X,), (torch.ones(10, 3),))


def test_a_length_with_a_longest():
    table = nn.Embedding(4, 3)
    model = Calls(lambda x: x + table(torch.arange(x.shape[0])))
    program = exported(model, (X,), {0: "n"})
    assert_same(program, model, (X,), (X[:3],))


# ---- files ----


def test_a_file_is_written_with_the_weights_beside_it(tmp_path: Path):
    model = nn.Linear(3, 100)
    torch.onnx.export(model, (X,), tmp_path / "model.onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model.onnx",
        "model.onnx.data",
    ]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"input": X.numpy()})
    assert torch.allclose(torch.tensor(found), model(X), atol=1e-5)


def test_one_file_without_external_data_and_without_dynamo(tmp_path: Path):
    model = nn.Linear(3, 100)
    torch.onnx.export(model, (X,), str(tmp_path / "a.onnx"), external_data=False)
    assert torch.onnx.export(model, (X,), tmp_path / "b.onnx", dynamo=False) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.onnx", "b.onnx"]
    assert len(onnx.load(tmp_path / "b.onnx").graph.initializer) == 2


def test_a_buffer_is_written_to():
    buffer = io.BytesIO()
    torch.onnx.export(nn.Linear(3, 2), (X,), buffer)  # type: ignore[arg-type]
    onnx.checker.check_model(onnx.load_from_string(buffer.getvalue()))


def test_weights_can_be_left_out_or_be_inputs(tmp_path: Path):
    path = tmp_path / "model.onnx"
    torch.onnx.export(nn.Linear(3, 2), (X,), path, export_params=False)
    assert len(onnx.load(path).graph.initializer) == 0
    torch.onnx.export(nn.Linear(3, 2), (X,), path, keep_initializers_as_inputs=True)
    names = [i.name for i in onnx.load(path).graph.input]
    assert names == ["input", "weight", "bias"]


def test_a_program_runs_and_takes_other_weights():
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    program = torch.onnx.export(model, (X,))
    assert isinstance(program, ONNXProgram)
    assert torch.allclose(program(X)[0], model(X), atol=1e-5)
    program.apply_weights(other.state_dict())
    assert torch.allclose(program(X)[0], other(X), atol=1e-5)
    assert "Gemm" in repr(program)
    with pytest.raises(TypeError, match="needs the path of a file"):
        program.save(io.BytesIO(), external_data=True)


# ---- the model afterwards ----


def test_the_model_is_left_as_it_was():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    model[1].eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state = torch.get_rng_state()
    x = X.clone()
    torch.onnx.export(model, (x,))
    assert model.training
    assert not model[1].training
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, X)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert not model[0]._forward_hooks


def test_a_model_can_ask_whether_it_is_exported():
    seen: list[bool] = []
    model = Calls(lambda x: seen.append(torch.onnx.is_in_onnx_export()) or x + 1)
    torch.onnx.export(model, (X,))
    assert all(seen)
    assert not torch.onnx.is_in_onnx_export()


def test_an_older_opset_is_converted_or_kept_with_a_warning():
    program = torch.onnx.export(nn.Linear(3, 2), (X,), opset_version=13)
    assert program is not None
    assert program.model_proto.opset_import[0].version == 13
    model = nn.LayerNorm(3)
    with pytest.warns(OnnxExporterWarning, match="could not be converted to opset 9"):
        program = torch.onnx.export(model, (X,), opset_version=9)
    assert program is not None
    assert program.model_proto.opset_import[0].version == 18


# ---- what is refused ----


class Counter(nn.Module):
    """Counts its calls in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        return x + self.calls


def a_number_from_data(x: Any) -> Any:
    return x * x.sum().item()


def a_choice_by_data(x: Any) -> Any:
    return x.sin() if x[0, 0] == 0 else x.cos()


def a_mask_as_index(x: Any) -> Any:
    return x[x > 3]


def random_numbers(x: Any) -> Any:
    return x + torch.rand(3)


def an_unknown_op(x: Any) -> Any:
    return torch.linalg.qr(x)[0]


def positions_of_windows(x: Any) -> Any:
    return torch.nn.functional.adaptive_max_pool1d(x, 2, return_indices=True)[1]


def an_object(x: Any) -> Any:
    return torch.distributions.Normal(x, 1.0)


REFUSED: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (a_number_from_data, "mul.*depends on the values of the inputs.*item()"),
    (a_choice_by_data, "the model calls other ops.*torch.where"),
    (a_mask_as_index, "depends on the values of the inputs.*torch.where"),
    (random_numbers, "other values each time the model runs: it is random"),
    (an_unknown_op, r"linalg_qr.* has no translation to ONNX. Write it with other ops"),
    (positions_of_windows, "second output of adaptive_max_pool2d.* Do not return it"),
    (an_object, "returns a Normal, and a graph returns tensors"),
)


@pytest.mark.parametrize(
    ("function", "sentence"), REFUSED, ids=[f.__name__ for f, _ in REFUSED]
)
def test_what_a_graph_cannot_say_is_refused(function: Any, sentence: str):
    with pytest.raises(OnnxExporterError, match=sentence):
        torch.onnx.export(Calls(function), (X,))


def test_a_number_from_a_single_integer_is_refused():
    model = Calls(lambda n: torch.ones(3) * n.item())
    with pytest.raises(OnnxExporterError, match="depends on the values"):
        torch.onnx.export(model, (torch.tensor([2]),))


def test_the_only_index_that_there_is_can_be_exported():
    model, codes = nn.Embedding(1, 3), torch.zeros(2, 2).long()
    assert_same(exported(model, (codes,)), model, (codes,))


def test_a_refusal_names_the_line():
    with pytest.raises(UnsupportedOperatorError) as caught:
        torch.onnx.export(Calls(an_unknown_op), (X,))
    line = an_unknown_op.__code__.co_firstlineno + 1
    assert f"{Path(__file__).name}:{line}" in str(caught.value)


def a_loop_over_rows(x: Any) -> Any:
    return sum(row.sin() for row in x)


def a_table_made_for_the_length(x: Any) -> Any:
    return x + torch.tensor([[float(i * i)] for i in range(len(x))])


def a_number_from_the_length(x: Any) -> Any:
    return x / len(x) ** 0.5


def squeezed_at_one(x: Any) -> Any:
    return x[:1].expand(len(x) - 3, 3).squeeze()


DYNAMIC: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (a_loop_over_rows, "number of its dimensions or arguments changes|other ops"),
    (a_table_made_for_the_length, "Register the longest one as a buffer"),
    (a_number_from_the_length, "was computed from the length of a dynamic axis"),
    (squeezed_at_one, "dimensions|other ops|being 1"),
)


@pytest.mark.parametrize(
    ("function", "sentence"), DYNAMIC, ids=[f.__name__ for f, _ in DYNAMIC]
)
def test_what_does_not_follow_a_dynamic_axis_is_refused(function: Any, sentence: str):
    exported(Calls(function), (X,))  # fixed, it can be exported
    with pytest.raises(OnnxExporterError, match=sentence):
        exported(Calls(function), (X,), {0: "n"})


def test_an_axis_of_one_length_is_refused():
    with pytest.raises(OnnxExporterError, match="does not run with other lengths of n"):
        exported(nn.Linear(3, 2), (X,), {1: "n"})


def test_a_model_that_writes_to_its_state_is_refused_and_restored():
    model = Counter()
    with pytest.raises(OnnxExporterError, match="'calls', and a graph has no state"):
        torch.onnx.export(model, (X,))
    assert model.calls.item() == 0


def test_training_mode_is_refused_where_it_matters():
    mode = torch.onnx.TrainingMode.TRAINING
    with pytest.raises(OnnxExporterError, match="export in evaluation mode"):
        torch.onnx.export(nn.BatchNorm1d(3), (X,), training=mode)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"opset_version": 99}, "opset_version=99 is not known"),
        ({"input_names": ["a", "b"]}, "2 input_names were given for 1 inputs"),
        ({"output_names": ["a", "b"]}, "2 output_names were given for 1 outputs"),
        ({"dynamic_shapes": {"z": {0: "n"}}}, "names 'z', but the inputs are input"),
        ({"dynamic_shapes": ({0: 4},)}, "takes names of lengths as strings"),
        ({"custom_opsets": {"mine": 1}}, "custom_translation_table and custom_opsets"),
        (
            {"input_names": ["x"], "dynamic_axes": {"x": {5: "n"}}},
            "axis 5 of 'x' cannot be dynamic: it has 2 dimensions",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str):
    with pytest.raises(OnnxExporterError, match=sentence):
        torch.onnx.export(nn.Linear(3, 2), (X,), **options)


def test_a_function_is_no_module():
    with pytest.raises(TypeError, match=r"takes an nn.Module, not function"):
        torch.onnx.export(a_mask_as_index, (X,))  # type: ignore[arg-type]


def test_importing_the_engine_does_not_import_onnx():
    code = "import sys, gradtape.onnx; print('onnx' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(torch.__file__).parents[1])},
    )
    assert found.stdout.strip() == "False"
