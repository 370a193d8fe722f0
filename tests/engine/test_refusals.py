"""What is out of reach refuses in one sentence, and the docs list it."""

from __future__ import annotations

import importlib
import operator
import re
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import gradtape as gt
from gradtape import compiler
from gradtape._common.refusals import TOPICS, OutOfReachError, sentence

from .oracle import assert_same

NAMES = [name for topic in TOPICS for name in topic.names.split()]
REACHABLE = [name for name in NAMES if "tensorboard" not in name]


@pytest.mark.parametrize("name", REACHABLE)
def test_a_refused_name_says_what_to_use(name: str) -> None:
    module, _, short = name.rpartition(".")
    found = getattr(importlib.import_module(f"gradtape.{module}".rstrip(".")), short)
    with pytest.raises(OutOfReachError) as refusal:
        found("anything", device="cpu")
    said = str(refusal.value)
    assert said == sentence(name) == found.__doc__
    assert said.startswith(f"torch.{name} is out of reach of gradtape, because ")
    assert "; use " in said
    assert "\n" not in said
    assert found.__name__ == short


def test_refused_classes_have_no_instances() -> None:
    assert not isinstance(gt.ones(1), gt.jit.ScriptFunction)


@pytest.mark.filterwarnings("ignore:.torch.jit.*. is deprecated")
@pytest.mark.parametrize("name", REACHABLE)
def test_pytorch_has_the_name(name: str) -> None:
    torch = pytest.importorskip("torch")
    module, _, short = name.rpartition(".")
    assert hasattr(torch, name.partition(".")[0])
    if module != "utils.cpp_extension":  # which looks for compilers when imported
        assert hasattr(importlib.import_module(f"torch.{module}".rstrip(".")), short)


def test_unknown_names_are_still_unknown() -> None:
    assert not hasattr(gt.fx, "nothing_of_the_kind")


def test_the_docs_list_them_all(root: Path) -> None:
    page = (root / "docs" / "out-of-reach.md").read_text(encoding="utf-8")
    rows = [
        f"| {', '.join(f'`{name}`' for name in topic.names.split())} | {topic.why} | "
        f"{topic.instead} |"
        for topic in TOPICS
    ]
    refused = re.search(r"## Refused\n(.*?)\n## ", page, re.DOTALL)
    assert refused is not None
    assert refused[1].strip().splitlines()[2:] == rows


# ---- compile ----


def test_compile_returns_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler._Said, "yet", False)
    model = gt.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="compiles nothing"):
        assert gt.compile(model, mode="max-autotune", fullgraph=True) is model
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been said

        @gt.compile
        def double(x: Any) -> Any:
            return x * 2

        @gt.compile(dynamic=True)
        def triple(x: Any) -> Any:
            return x * 3

    assert double(gt.ones(1)).item() == 2
    assert triple(gt.ones(1)).item() == 3


def test_modules_compile_in_place_to_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiler._Said, "yet", True)
    layer = gt.nn.Linear(2, 1)
    before = layer(gt.ones(2))
    layer.compile(mode="default")
    assert gt.equal(layer(gt.ones(2)), before)


def test_disabled_compiling_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler._Said, "yet", False)
    assert gt.compile(print, disable=True) is print
    assert not compiler._Said.yet


MARKS = [
    *("jit.is_scripting", "jit.is_tracing", "compiler.is_compiling"),
    *("compiler.is_dynamo_compiling", "compiler.is_exporting", "_dynamo.is_compiling"),
]


@pytest.mark.parametrize("name", MARKS)
def test_nothing_is_ever_compiled(name: str) -> None:
    assert_same(lambda t: operator.attrgetter(name)(t)())


def test_marks_on_functions_change_nothing() -> None:
    def program(t: Any) -> Any:
        def plain(x: int) -> int:
            return x + 1

        marked = [
            t.jit.ignore(plain),
            t.jit.ignore(drop=False)(plain),
            t.jit.unused(plain),
            t.jit.export(plain),
            t.fx.wrap(plain) if t is gt else plain,
        ]
        return [mark(1) for mark in marked], t.jit.annotate(int, 3)

    assert_same(program)


def test_other_marks() -> None:
    assert gt.compiler.disable(print) is print
    assert gt.compiler.disable()(print) is print
    assert gt._dynamo.disable(print) is print
    assert gt.compiler.list_backends() == []
    gt.compiler.reset()
    with gt.compiler.set_stance("force_eager"):
        gt._dynamo.config.suppress_errors = True


def test_patched_settings_of_dynamo() -> None:
    def program(t: Any) -> Any:
        config, seen = t._dynamo.config, list[Any]()
        with config.patch(verbose=True):
            seen.append(config.verbose)
        with config.patch({"verbose": True}), config.patch("cache_size_limit", 3):
            seen += [config.verbose, config.cache_size_limit]
        config.patch(verbose=True)(lambda: seen.append(config.verbose))()
        return [*seen, config.verbose]

    assert_same(program)


def test_the_folder_of_downloads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert_same(lambda t: t.hub.get_dir())
    monkeypatch.setattr(gt.hub._Folder, "chosen", None)
    gt.hub.set_dir(tmp_path / "own")
    assert gt.hub.get_dir() == str(tmp_path / "own")


def test_weights_are_fetched_once_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = tmp_path / "weights.pth"
    gt.save({"w": gt.ones(2)}, weights)
    begin = sha256(weights.read_bytes()).hexdigest()[:8]
    named = weights.rename(tmp_path / f"weights-{begin}.pth")
    load, folder = gt.hub.load_state_dict_from_url, tmp_path / "kept"
    for expected in ("Downloading", ""):
        found = load(named.as_uri(), folder, progress=False, check_hash=True)
        assert found["w"].tolist() == [1, 1]
        assert capsys.readouterr().out[:11] == expected
    other = named.rename(tmp_path / "weights-00000000.pth")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        load(other.as_uri(), folder, progress=False, check_hash=True)
    assert [path.name for path in folder.iterdir()] == [f"weights-{begin}.pth"]
