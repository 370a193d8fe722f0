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

from gradviz.diagnosis.manual import documented
from tests import forked
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
        assert f"({each.code}.md)" in listed
        assert (tmp_path / f"{each.code}.md").is_file()


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
