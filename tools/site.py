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
from collections.abc import Callable, Iterable
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
    "{count} causes, each with the reason, an example that was run for its page, what "
    "to write instead, and where the rule stays quiet. `gradviz run` finds out which "
    "it is; this is where to look by hand."
)
_SEVERITY = (
    "The severity is the usual one: a run says error of what ended it, and less of "
    "what did no harm or may be meant."
)
_SYMPTOMS = {
    "`RuntimeError: … modified by an inplace operation`": "101 102 104 105 107 108",
    "`RuntimeError: a leaf Variable that requires grad …`": "111 112",
    "`RuntimeError: Trying to backward through the graph a second time`": (
        "201 202 203 204 223"
    ),
    "`RuntimeError: element 0 of tensors does not require grad`": (
        "316 303 304 301 307 319"
    ),
    "`RuntimeError: grad can be implicitly created only for scalar outputs`": "206",
    "`RuntimeError` about shapes, dtypes or devices": "618 616 617 120 642",
    "`.grad` of a parameter is `None`": "601 306 606 303 308 309",
    "`.grad` of a result is `None`": "209 207 208 210",
    "gradients are 0, or tiny": "501 503 504 508 312 412",
    "the loss, or a gradient, is NaN or Inf": "402 408 407 401 409 410 411 414",
    "the loss does not fall": "610 604 602 605 614 620 622",
    "the loss explodes": "505 502 610 670",
    "a part of the model stays as it was": "601 306 606 605 621 607 340",
    "it trains, but the results are poor": "619 650 653 655 658 671 678",
    "evaluation is worse than training, or noisy": "613 614 680 681",
    "memory grows": "217 218 240 242 205 220",
    "mixed precision goes wrong": "626 627 412 413 683",
    "`UserWarning: Using a target size …`": "603 602",
    "`UserWarning` about `lr_scheduler.step()`": "623 624",
    "a second derivative is missing, or wrong": "314 507 807 809 672",
    "`autograd.Function`, a hook or a checkpoint misbehaves": "801 802 806 843 840 812",
    "ranks of DDP or FSDP disagree, wait or stop": "701 702 703 705 706",
}
"""What people see, and the codes of what may be behind it, likeliest first."""
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
    """Write a page for each finding, those of families, and the index to them.

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
    for digit in _FAMILIES:
        family = [each for each in pages if each.rule.code[2] == digit]
        (folder / f"GV{digit}.md").write_text(_family(digit, family), encoding="utf-8")
    (folder / "index.md").write_text(_index(pages), encoding="utf-8")


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


def _family(digit: str, pages: list[Page]) -> str:
    """Return the page that lists all findings of a hundred."""
    rows = [
        f"| [{each.rule.code}]({each.rule.code}.md) {each.rule.slug} "
        f"| {each.title} | {each.rule.severity} |"
        for each in pages
    ]
    table = ["| code | cause | severity |", "|---|---|---|", *rows]
    head = [f"# GV{digit}xx: {_FAMILIES[digit]}", "", _SEVERITY, "", *table, ""]
    return "\n".join([*head, _hidden(each.rule.code for each in pages)])


def _index(pages: list[Page]) -> str:
    """Return the way in: by what is seen, then by family."""
    slugs = {each.rule.code: each.rule.slug for each in pages}
    lines = ["# What gradviz finds", "", _ABOUT.format(count=len(pages)), ""]
    lines += ["## By what you see", "", "| you see | it may be |", "|---|---|"]
    for symptom, numbers in _SYMPTOMS.items():
        codes = [f"GV{number}" for number in numbers.split()]
        links = ", ".join(f"[{slugs[code]}]({code}.md)" for code in codes)
        lines.append(f"| {symptom} | {links} |")
    lines += ["", "## By kind", ""]
    for digit, title in _FAMILIES.items():
        count = sum(code[2] == digit for code in slugs)
        lines.append(f"- [GV{digit}xx: {title}](GV{digit}.md) ({count})")
    lines += ["", "`gradviz explain` lists all of them in a terminal.", ""]
    return "\n".join([*lines, _hidden(f"GV{digit}" for digit in _FAMILIES)])


def _hidden(names: Iterable[str]) -> str:
    """Return what puts pages below this one into the sidebar."""
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


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
