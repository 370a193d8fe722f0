"""Build the documentation site: pages of findings, notebooks, and the rest by Sphinx.

    python -m tools.site [OUT]

An extension of Sphinx as well, which writes what is generated beside the sources: a
page for each finding, with its example run, and the notebooks. No network is needed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

from gradviz.diagnosis.manual import Page, documented, is_code, page_of
from gradviz.export import export_svg
from gradviz.text.findings import findings_text
from tools import playground
from tools.frontend import ROOT

SOURCE = ROOT / "docs"
OUT = ROOT / "build" / "site"
FINDINGS = "findings"
NOTEBOOKS = "notebooks"
PLAYGROUND = "playground"

_FAMILIES = {
    "1": "Writes in place",
    "2": "Lifetime of graphs, and leaves",
    "3": "Cuts in the graph",
    "4": "NaN and Inf",
    "5": "Vanishing, exploding and dead gradients",
    "6": "Optimizers and training loops",
    "7": "Ranks of one training",
    "8": "Custom functions, hooks and checkpoints",
}
_ABOUT = (
    "{count} causes, each with the reason, an example that was run for this page, what "
    "to write instead, and where the rule stays quiet. The severity is the usual one: "
    "a run says error of what ended it, and less of what did no harm or may be meant."
)
_MARK = re.compile(r"  # (CULPRIT|INSTEAD)$", re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx write the generated pages before it reads any."""
    app.add_lexer("mermaid", TextLexer)  # GitHub draws it; here it is read
    app.connect("builder-inited", lambda app: write_generated(Path(app.srcdir)))
    app.connect("html-page-context", _playground_page)
    app.connect("build-finished", _playground_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _playground_page(
    app: Any, name: str, template: str, context: dict[str, Any], doctree: object
) -> str | None:
    """Give the playground's page a template of its own, with what that is told."""
    if name != PLAYGROUND:
        return None
    context["playground"] = playground.context(playground.pyodide())
    return "playground.html"


def _playground_files(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        playground.write(playground.pyodide(), Path(app.outdir))


def write_generated(folder: Path) -> None:
    """Write the pages of findings and the notebooks into a folder of sources."""
    write_findings(folder / FINDINGS)
    notebooks = _emptied(folder / NOTEBOOKS)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, notebooks)


def write_findings(folder: Path, *, run: Callable[[str], bool] = bool) -> None:
    """Write a page for each finding, and the list that leads to them.

    ``run`` says of which codes the example is run; of all, where it is not given.
    """
    _emptied(folder)
    pages = [page_of(each) for each in documented()]
    examples = _examples()
    for page in pages:
        code = page.rule.code
        parts = _documentation(page)
        if code in examples and run(code):
            parts[1:1] = _example(folder, code, examples[code])
        text = "\n\n".join(parts) + "\n"
        (folder / f"{code}.md").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text(_list(pages), encoding="utf-8")


def _emptied(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _documentation(page: Page) -> list[str]:
    """Return the head of a page, then its sections."""
    rule = page.rule
    severity = f"Severity: **{rule.severity}**."
    terminal = f"In a terminal: `gradviz explain {rule.code}`."
    head = f"# {rule.code} {rule.slug}\n\n{page.title}\n\n{severity} {terminal}"
    return [
        head,
        *(
            f"## {name}\n\n" + (f"```python\n{text}\n```" if is_code(text) else text)
            for name, text in page.sections.items()
        ),
    ]


def _examples() -> dict[str, Any]:
    """Return the first wrong program of each rule's tests, by code."""
    from tests.rules.tables import FILES, cases_in

    found: dict[str, Any] = {}
    for file in FILES:
        name = file.rpartition(".")[2].upper()
        cases = [each for each in cases_in(file) if each.slug]
        if name.startswith("GV") and cases:
            found[name] = cases[0]
    return found


def _example(folder: Path, code: str, case: Any) -> list[str]:
    """Run a program; return it with what was found, and write its picture."""
    from tests.rules.harness import recorded

    snapshot = recorded(case)
    text = _MARK.sub("", case.source).rstrip()
    marked = ",".join(map(str, case.lines))
    said = _MARK.sub("", findings_text(snapshot, limit=1))
    said = said.replace(f"{case.file}:", f"{case.name}.py:")
    parts = [
        "## Seen in a program",
        *_try_it(text, case),
        f"```{{code-block}} python\n:emphasize-lines: {marked}\n\n{text}\n```",
        f"What `gradviz run` says of it:\n\n```text\n{said}\n```",
    ]
    if snapshot.nodes:
        export_svg(snapshot, folder / f"{code}.svg")
        parts.append(f"![The graph of the example]({code}.svg)")
    return parts


def _try_it(program: str, case: Any) -> list[str]:
    """Return a link that opens the program where it runs, if it does on gradtape."""
    if "gradtape" not in case.engines:
        return []
    address = f"../{playground.link(program)}"
    return [f'```{{raw}} html\n<p><a href="{address}">Try it</a></p>\n```']


def _list(pages: list[Page]) -> str:
    lines = [
        "# What gradviz finds",
        "",
        _ABOUT.format(count=len(pages)),
    ]
    for digit, title in _FAMILIES.items():
        own = [each for each in pages if each.rule.code[2] == digit]
        if not own:
            continue
        lines += ["", f"## {title}", "", "| code | cause | severity |", "|---|---|---|"]
        lines += [
            f"| [{each.rule.code}]({each.rule.code}.md) {each.rule.slug} "
            f"| {each.title} | {each.rule.severity} |"
            for each in own
        ]
    names = "\n".join(each.rule.code for each in pages)
    lines += ["", f"```{{toctree}}\n:hidden:\n\n{names}\n```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Build the site; warnings are errors."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("out", nargs="?", type=Path, default=OUT)
    out: Path = parser.parse_args().out
    command = ["-m", "sphinx", "-W", "--keep-going", "-b", "html", "-q"]
    done = subprocess.run(
        [sys.executable, *command, str(SOURCE), str(out)], cwd=ROOT, check=False
    )
    if done.returncode == 0:
        print(f"The site: {(out / 'index.html').as_uri()}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
