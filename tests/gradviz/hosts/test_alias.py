"""An alias gives the same modules under another name, and leaves no trace."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradviz.running.engine_alias import alias


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a package ``actual`` shaped like PyTorch, and forget it afterwards."""
    files = {
        "actual/__init__.py": "from actual import nn\nvalue = 1",
        "actual/nn/__init__.py": "from actual.nn import functional",
        "actual/nn/functional.py": "def relu(x): return max(x, 0)",
        "actual/late.py": "from actual.nn.functional import relu",
        "actual/broken.py": "import a_module_that_is_missing",
        "actual/raising.py": "1 / 0",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [n for n in sys.modules if n.split(".")[0] in ("actual", "other")]:
        del sys.modules[name]


def test_every_form_of_import_gives_the_same_modules():
    with alias("other", "actual"):
        import actual.nn.functional
        import other
        import other.nn.functional as F
        from other import nn
        from other.nn import functional
        from other.nn.functional import relu

        assert other is actual
        assert nn is actual.nn is sys.modules["other.nn"]
        assert F is functional is actual.nn.functional
        assert relu is actual.nn.functional.relu
        assert importlib.import_module("other.late") is sys.modules["actual.late"]


def test_only_the_first_module_changes_its_name_meanwhile():
    import actual.nn

    specs = actual.__spec__, actual.nn.__spec__
    loaders = actual.__loader__, actual.nn.__loader__
    with alias("other", "actual"):
        import other.nn

        assert (actual.__name__, actual.nn.__name__) == ("other", "actual.nn")
        assert actual.__package__ == "actual"
        assert importlib.util.find_spec("other").name == "actual"
        assert importlib.reload(other) is actual
    assert actual.__name__ == actual.__spec__.name == specs[0].name
    assert actual.nn.__spec__ is specs[1]
    assert loaders[1] is actual.nn.__loader__


def test_nothing_is_left_afterwards():
    path = list(sys.meta_path)
    with alias("other", "actual"):
        importlib.import_module("other.nn.functional")
    assert sys.meta_path == path
    assert not [name for name in sys.modules if name.split(".")[0] == "other"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("other")


def test_nothing_is_left_after_an_error():
    path = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), alias("other", "actual"):
        importlib.import_module("other.raising")
    assert sys.meta_path == path
    assert "other" not in sys.modules


def test_what_was_imported_before_comes_back():
    import json
    import json.decoder as decoder

    with alias("json", "actual"):
        assert importlib.import_module("json").value == 1
        assert "json.decoder" not in sys.modules
    assert sys.modules["json"] is json
    assert sys.modules["json.decoder"] is decoder


def test_missing_submodules_are_missing():
    with alias("other", "actual"):
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'other\.no'"):
            importlib.import_module("other.no")
        with pytest.raises(
            ModuleNotFoundError, match=r"'other\.no\.deeper'|'other\.no'"
        ):
            importlib.import_module("other.no.deeper")
        with pytest.raises(ImportError, match="cannot import name 'no'"):
            exec("from other import no")
        assert importlib.util.find_spec("other.no") is None


def test_what_a_module_itself_lacks_is_reported():
    with alias("other", "actual"), pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("other.broken")
    assert caught.value.name == "a_module_that_is_missing"


def test_a_missing_target_does_not_fall_back_to_the_real_name():
    with alias("json", "a_module_that_is_missing"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("json")
    assert importlib.import_module("json").dumps([1]) == "[1]"


def test_names_that_only_begin_alike_are_left_alone():
    with alias("js", "actual"):
        assert importlib.import_module("json").__name__ == "json"
