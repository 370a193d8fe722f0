"""The README's code runs, its commands exist, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    text: str

    @property
    def is_notebook(self) -> bool:
        return self.language == "python" and self.text.startswith("%")

    @property
    def is_of_its_own(self) -> bool:
        """Whether it is a program that the others do not go on from."""
        return self.language == "python" and self.text.startswith("# quiet.py")


def blocks(text: str) -> list[Block]:
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(match[1], match[2]) for match in found]


def python_of_the_readme() -> str:
    """The Python blocks as one program: later ones go on from earlier ones."""
    return "\n".join(
        block.text
        for block in blocks(README)
        if block.language == "python" and not (block.is_notebook or block.is_of_its_own)
    )


def commands(text: str, program: str) -> list[list[str]]:
    """The arguments of each call of a program in the shell blocks."""
    return [
        line.split("#")[0].split()[1:]
        for block in blocks(text)
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith(program + " ")
    ]


def run(
    *arguments: object, cwd: Path, engine: str = "gradtape"
) -> subprocess.CompletedProcess[str]:
    """Run Python; pages open, but not on the screen of whoever tests."""
    done = forked.run(
        *arguments, cwd=cwd, engine=engine, environment={"BROWSER": "true"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the README's Python blocks were run as a script."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("readme")
    (folder / "train.py").write_text(python_of_the_readme(), encoding="utf-8")
    (folder / "package").mkdir()
    (folder / "package" / "train.py").write_text("import gradtape\n")
    printed = run("train.py", cwd=folder, engine="torch").stdout
    (folder / "printed").write_text(printed)
    return folder


def test_the_first_code_is_short():
    first = blocks(README)[0]
    assert first.language == "python"
    assert len(first.text.splitlines()) <= 13


def test_the_python_blocks_run(folder: Path):
    assert "AddmmBackward0" in (folder / "printed").read_text()
    page = (folder / "graph.html").read_text(encoding="utf-8")
    assert "mountPage" in page


@pytest.mark.parametrize("arguments", commands(README, "gradviz"), ids=" ".join)
def test_the_command_lines_run(folder: Path, arguments: list[str]):
    pages = [folder / word for word in arguments if word.endswith(".html")]
    for page in pages:
        page.unlink(missing_ok=True)
    run("-m", "gradviz", *arguments, cwd=folder, engine="torch")
    for page in pages:
        assert "mountPage" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_what_it_finds_is_what_it_says(folder: Path, engine: str):
    pytest.importorskip(engine)
    (program,) = [block for block in blocks(README) if block.is_of_its_own]
    report, _ = [block for block in blocks(README) if block.language == "text"]
    (folder / "quiet.py").write_text(program.text, encoding="utf-8")
    command = ["run", "--engine", engine, "--findings", "quiet.json", "quiet.py"]
    done = run("-m", "gradviz", *command, cwd=folder, engine=engine)
    verdict, _, rest = done.stderr.partition("\n\n")
    assert verdict.startswith("gradviz: found 1 cause in 3 backward passes")
    assert rest.startswith(report.text)


def test_why_answers_as_it_says(folder: Path):
    (program,) = [block for block in blocks(README) if block.is_of_its_own]
    _, answer = [block for block in blocks(README) if block.language == "text"]
    (folder / "quiet.py").write_text(program.text, encoding="utf-8")
    run_of = ["run", "--engine", "gradtape", "--html", "quiet.html", "quiet.py"]
    run("-m", "gradviz", *run_of, cwd=folder)
    answered = run("-m", "gradviz", "why", "quiet.html", "encoder.weight", cwd=folder)
    assert answered.stdout == answer.text


def test_a_fix_is_tried_as_it_says(folder: Path):
    (program,) = [block for block in blocks(README) if block.is_of_its_own]
    (report,) = [block for block in blocks(README) if block.language == "diff"]
    (folder / "quiet.py").write_text(program.text, encoding="utf-8")
    command = ["fix", "--engine", "gradtape", "--try", "quiet.py"]
    done = run("-m", "gradviz", *command, cwd=folder)
    said = [line.rstrip() for line in done.stderr.splitlines()]
    told = [line for line in said if not line.startswith("  The loss")]
    assert "\n".join(told).find(report.text.rstrip()) > 0
    assert (folder / "quiet.py").read_text(encoding="utf-8") == program.text


def test_the_notebook_block_runs(folder: Path):
    (block,) = [block for block in blocks(README) if block.is_notebook]
    cells = [python_of_the_readme(), *block.text.split("\n\n")]
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        f"for cell in {cells!r}:\n"
        "    shell.run_cell(cell, store_history=True).raise_error()\n"
        "print(shell.user_ns['loss'].grad_fn.name())\n"
    )
    done = run("-c", code, cwd=folder, engine="torch")
    assert done.stdout.endswith("MeanBackward0\n")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_targets_exist(document: str):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = commands((ROOT / document).read_text(encoding="utf-8"), "make")
    targets = {arguments[0] for arguments in named}
    assert {name for name in targets if f"\n{name}: ##" not in makefile} == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_within_the_repository_lead_somewhere(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    local = {first or second for first, second in links if "://" not in first}
    assert {link for link in local if not (ROOT / link.split("#")[0]).exists()} == set()


def test_extras_named_in_the_readme_exist():
    extras = re.findall(r"'\./?(engine)?\[(\w+)\]'", README)
    assert {folder for folder, _ in extras} == {"", "engine"}
    for folder, name in extras:
        pyproject = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
        assert f"\n{name} = [" in pyproject
