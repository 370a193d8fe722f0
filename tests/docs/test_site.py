"""The documentation site: its sources hold together, and what they show is true."""

from __future__ import annotations

import base64
import functools
import io
import re
import shutil
import warnings
import zlib
from pathlib import Path

import pytest

from gradviz.cli import _parser
from gradviz.diagnosis.manual import documented
from tests import forked
from tests.docs.test_readme import README, blocks, commands
from tools import site

sphinx = pytest.importorskip("sphinx.application")
docutils = pytest.importorskip("sphinx.util.docutils")

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
STORIES = re.findall(
    r"^```python\n# (\w+\.py)\n(.*?)^```.*?^```text\n(.*?)^```",
    GUIDE,
    flags=re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(("name", "program", "said"), STORIES)
def test_the_guide_shows_what_is_said_of_its_programs(
    name: str, program: str, said: str, tmp_path: Path
):
    (tmp_path / name).write_text(f"# {name}\n{program}", encoding="utf-8")
    arguments = ("-m", "gradviz", "run", "--no-open", name)
    done = forked.run(*arguments, cwd=tmp_path, engine="torch")
    assert _without_numbers(said) in _without_numbers(done.stderr)


def _without_numbers(text: str) -> str:
    """Leave out how many there were: not all that is data is looked at."""
    return re.sub(r"\d+", "#", text).strip()


def test_the_guide_shows_code_that_runs(tmp_path: Path):
    shown = [each.text for each in blocks(GUIDE) if each.language == "python"]
    cells = [each for each in shown if not each.startswith("# ")]
    assert len(cells) == 4
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        f"for cell in {cells!r}:\n"
        "    shell.run_cell(cell, store_history=True).raise_error()\n"
    )
    done = forked.run("-c", code, cwd=tmp_path, engine="torch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "encoder.weight was written" in done.stdout


def test_the_first_page_shows_what_the_readme_does():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    told = [each for each in blocks(index) if each.language in ("python", "text")]
    assert [each.language for each in told] == ["python", "text"]
    assert all(each in blocks(README) for each in told)
    for arguments in commands(index, "gradviz"):
        assert arguments[0].startswith("--") or _parser().parse_args(arguments)


def test_the_guide_tells_some_stories():
    assert len(STORIES) >= 4


def test_a_page_shows_its_example_as_it_ran(tmp_path: Path):
    site.write_findings(tmp_path, run=lambda code: code == "GV306")
    page = (tmp_path / "GV306.md").read_text(encoding="utf-8")
    assert "warning GV306 detach-in-forward" in page
    assert "# CULPRIT" not in page
    assert "](GV306.svg)" in page
    (program,) = re.findall(r'href="\.\./playground\.html#p=([\w-]+)">Try it<', page)
    packed = base64.urlsafe_b64decode(program + "=" * (-len(program) % 4))
    text = zlib.decompress(packed, -zlib.MAX_WBITS).decode()
    assert text in page
    assert compile(text, "program.py", "exec")
    assert (tmp_path / "GV306.svg").read_text().startswith("<svg ")
    listed = (tmp_path / "index.md").read_text(encoding="utf-8")
    for each in documented():
        family = each.code[:3]
        assert f"({family}.md)" in listed
        assert f"({each.code}.md)" in (tmp_path / f"{family}.md").read_text("utf-8")
        assert (tmp_path / f"{each.code}.md").is_file()
    assert "is `None` | [unused-submodule](GV601.md), [detach-in-forward]" in listed


def test_the_sources_build_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Links, anchors, images, toctrees and references; notebooks are not executed."""
    source = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", source)
    for file in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        shutil.copy(ROOT / file, tmp_path)
    write = functools.partial(site.write_findings, run=lambda _: False)
    monkeypatch.setattr(site, "write_findings", write)
    said = io.StringIO()
    with warnings.catch_warnings(), docutils.docutils_namespace():
        warnings.simplefilter("ignore")  # those of extensions of Sphinx
        app = sphinx.Sphinx(
            source,
            ROOT / "docs",
            tmp_path / "out",
            tmp_path / "doctrees",
            "dummy",
            confoverrides={
                "nb_execution_mode": "off",
                "suppress_warnings": ["mystnb", "misc.highlighting_failure"],
            },
            status=None,
            warning=said,
        )
        app.build()
    assert said.getvalue() == ""
