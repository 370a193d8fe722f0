"""``gradviz run``: the script runs as under Python, and what it did is always kept."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz import cli, snapshots
from gradviz.cli import run as _cli_run

pytestmark = pytest.mark.usefixtures("bundle", "recorders")

Script = Callable[[str], Path]


def run(*arguments: object) -> int:
    return cli.main(["run", *map(str, arguments)])


ENVIRONMENT = """\
import inspect, os, pickle, sys
print(__name__, __file__, __spec__, __package__, __doc__, type(__builtins__))
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
class Point:
    pass
print(pickle.loads(pickle.dumps(Point)) is Point, inspect.getsource(Point))
def annotated(x: int): pass
print(annotated.__annotations__)
import neighbour
print(neighbour.__file__)
"""


def test_a_script_cannot_tell_the_difference(script: Script, capsys):
    path = script(ENVIRONMENT)
    (path.parent / "neighbour.py").touch()
    arguments = ["--lr", "0.1", "a b", "--title=x"]
    python = subprocess.run(
        [sys.executable, path, *arguments], capture_output=True, text=True, check=True
    )
    assert run(path, "--html", "out.html", "--", *arguments) == 0
    assert capsys.readouterr().out == python.stdout


@pytest.mark.parametrize("name", ["nested.train", "whole"])
def test_a_module_cannot_tell_the_difference(script: Script, capsys, name: str):
    folder = Path(name.partition(".")[0])  # `script` changed to an empty folder
    folder.mkdir()
    (folder / "__init__.py").write_text("print(__name__)\n")
    (folder / "neighbour.py").touch()
    program = ENVIRONMENT.replace("import neigh", "from . import neigh")
    program = program.replace("__spec__,", "__spec__.name, __spec__.origin,")
    for file in ("train.py", "__main__.py"):
        (folder / file).write_text(program)
    command = ["-m", name, "--lr", "0.1"]
    python = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True
    )
    assert run(*command, "--html", "out.html") == 0
    assert capsys.readouterr().out == python.stdout
    assert snapshots.load("out.html").title == name


def test_a_script_may_come_from_standard_input(script: Script, capsys, monkeypatch):
    text = "import sys\nprint(sys.argv, __file__)\n1 / len(sys.path[0])"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    script("")
    assert run("-", "a") == 1
    captured = capsys.readouterr()
    assert captured.out == "['-', 'a'] <stdin>\n"
    assert 'File "<stdin>", line 3, in <module>' in captured.err
    assert snapshots.load("stdin.html").title == "<stdin>"


def test_the_page_and_the_data_are_written(script: Script, recorders, capsys):
    path = script("print('hello')")
    assert run(path, "--html", "a.html", "--json", "b.json", "--title", "T") == 0
    assert snapshots.load("a.html").title == snapshots.load("b.json").title == "T"
    captured = capsys.readouterr()
    assert captured.out == "hello\n"
    assert captured.err == (
        "gradviz: recorded 6 nodes, 5 edges, 7 tensors, 9 events: "
        f"{Path('a.html').resolve()}, {Path('b.json').resolve()}\n"
    )
    assert len(recorders) == 1


def test_without_outputs_the_page_is_named_after_the_script(script: Script):
    run(script("pass"))
    assert snapshots.load("script.html").title == "script.py"
    Path("script.html").unlink()
    run(script("pass"), "--json", "only.json")
    assert not Path("script.html").exists()


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit(-1)", 255, ""),
        ("sys.exit(True)", 1, ""),
        ("sys.exit('goodbye')", 1, "goodbye\n"),
        ("raise SystemExit(4)", 4, ""),
    ],
)
def test_exit_codes_are_kept(
    script: Script, capsys, ending: str, status: int, words: str
):
    path = script(f"import sys\n{ending}")
    python = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=False
    )
    assert (python.returncode, python.stderr) == (status, words)
    assert run(path, "--json", "x.json") == status
    error = capsys.readouterr().err
    assert error.startswith(words + "gradviz: recorded 6 nodes")
    assert "raised" not in error
    assert snapshots.load("x.json").nodes


RAISING = {
    "plain": "def f():\n    1 / 0\nf()",
    "chained": "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError(3) from e",
    "context": "try:\n    1 / 0\nfinally:\n    [][1]",
    "group": "raise ExceptionGroup('g', [ValueError('v'), TypeError('t')])",
    "note": "e = ValueError('v')\ne.add_note('see line 3')\nraise e",
    "syntax": "x = = 1",
    "syntax inside": "exec('x = = 1')",
    "callback": "sorted([1, 2], key=lambda x: x / 0)",
    "recursion": "def f():\n    f()\nf()",
    "import": "import a_module_that_is_missing",
}


@pytest.mark.parametrize("kind", RAISING)
def test_what_a_script_raises_looks_as_under_python(script: Script, capsys, kind: str):
    path = script(RAISING[kind])
    python = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=False
    )
    assert run(path, "--json", "x.json") == python.returncode == 1
    *trace, last = capsys.readouterr().err.splitlines(keepends=True)
    assert without_depth("".join(trace)) == without_depth(python.stderr)
    assert last.startswith("gradviz: recorded 6 nodes")
    assert "until the script raised: " in last
    assert snapshots.load("x.json").nodes


def without_depth(trace: str) -> str:
    """Drop how often a line repeats: that depends on who called the script."""
    return re.sub(r"repeated \d+ more times", "repeated", trace)


def test_the_recorder_sees_the_error(script: Script, recorders):
    run(script("1 / 0"), "--json", "x.json")
    assert isinstance(recorders[0].error, ZeroDivisionError)


def test_an_interrupted_script_keeps_its_recording(script: Script, capsys):
    assert run(script("raise KeyboardInterrupt"), "--json", "x.json") == 130
    error = capsys.readouterr().err
    assert error.index("KeyboardInterrupt") < error.index("Ctrl-C again gives it up")
    assert snapshots.load("x.json").nodes


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_terminated_script_keeps_its_recording(script: Script, capsys, name: str):
    before = signal.signal(getattr(signal, name), signal.SIG_DFL)
    path = script(f"import signal; signal.raise_signal(signal.{name})")
    try:
        assert run(path, "--json", "x.json") == 128 + getattr(signal, name)
        assert signal.getsignal(getattr(signal, name)) is signal.SIG_DFL
    finally:
        signal.signal(getattr(signal, name), before)
    error = capsys.readouterr().err
    assert error.index(f"Terminated: {name}") < error.index(f"{name} again gives it up")
    assert snapshots.load("x.json").nodes


def test_what_a_script_does_on_a_signal_stays_its_own(script: Script):
    path = script(
        """
        import os, signal
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        before = signal.signal(signal.SIGTERM, lambda *_: print("mine"))
        signal.raise_signal(signal.SIGTERM)
        """
    )
    command = [sys.executable, "-m", "gradviz", "run", path, "--json", "x.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"child -{signal.SIGTERM.value}\nmine\n"


def test_the_scripts_own_excepthook_is_used(script: Script, capsys):
    path = script(
        """
        import sys
        def hook(kind, error, trace):
            print("mine", kind.__name__, trace.tb_frame.f_code.co_name)
        sys.excepthook = hook
        1 / 0
        """
    )
    hook = sys.excepthook
    try:
        assert run(path, "--json", "x.json") == 1
    finally:
        sys.excepthook = hook
    assert capsys.readouterr().out == "mine ZeroDivisionError <module>\n"


def test_sys_is_put_back(script: Script):
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    run(script("import sys\nsys.argv = []\nsys.path.clear()\n1/0"), "--json", "x.json")
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before


# ---- bad input ----


def refused(capsys, *arguments: object) -> str:
    """Return the one sentence on stderr with which the command is refused."""
    try:
        status = run(*arguments)
    except SystemExit as error:
        status = error.code
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.startswith("gradviz")
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_missing_script_is_named(script: Script, capsys):
    assert "none.py cannot be read: no such file" in refused(capsys, "none.py")
    assert "is a folder" in refused(capsys, ".", "--json", "x.json")
    assert "cannot be read" in refused(capsys, "x" * 300, "--json", "x.json")
    said = refused(capsys)
    assert said.startswith("gradviz run: name a script, or a module after -m")


def test_a_missing_module_is_named(script: Script, capsys):
    assert "no module 'none'" in refused(capsys, "-m", "none.train")
    assert "no module 'json.none'" in refused(capsys, "-m", "json.none")
    assert "no module 'email.__main__'" in refused(capsys, "-m", "email")
    assert "-m: expected one argument" in refused(capsys, "-m")


def test_bad_options_are_named(script: Script, capsys):
    path = script("print('ran')")
    unknown = refused(capsys, "--what", path)
    assert unknown.startswith("gradviz run: Unrecognized arguments: --what")
    assert "`gradviz run --help`" in unknown
    assert "'jax'" in refused(capsys, path, "--engine", "jax")
    assert "--html" in refused(capsys, path, "--html")


def test_a_hopeless_output_is_refused_before_the_script_runs(script: Script, capsys):
    path = script("print('ran')")
    assert "no folder" in refused(capsys, path, "--html", "no/x.html")
    assert "is a folder" in refused(capsys, path, "--json", ".")


def test_no_output_takes_the_place_of_another_file_of_the_run(script: Script, capsys):
    path = script("print('ran')")
    assert "is the script itself" in refused(capsys, path, "--html", path)
    page = path.rename(path.with_suffix(".html"))  # what its page would be called
    Path("here").symlink_to(page.parent)
    assert "is the script itself" in refused(
        capsys, page, "--html", "here/" + page.name
    )
    both = ("--json", "x.json", "--findings", "./x.json")
    assert "is another output" in refused(capsys, page, *both)
    assert page.read_text() == "print('ran')"


def test_a_missing_viewer_is_refused_before_the_script_runs(
    script: Script, capsys, bundle: Path
):
    bundle.unlink()
    assert "tools.frontend" in refused(capsys, script("print('ran')"))


def test_an_output_lost_on_the_way_is_kept_elsewhere(script: Script, capsys):
    Path("out").mkdir()
    path = script("import os\nos.rmdir('out')")
    assert run(path, "--json", "out/x.json") == 0
    complaint, summary = capsys.readouterr().err.splitlines()
    assert f"there is no folder {Path('out').resolve()}" in complaint
    kept = Path(summary.rsplit(": ", 1)[1])
    assert kept.name == "x.json"
    assert snapshots.load(kept).nodes


# ---- whose argument is it ----


@pytest.mark.parametrize(
    ("given", "own", "theirs"),
    [
        ("s.py", "s.py", ""),
        ("s.py a -b --c=d", "s.py", "a -b --c=d"),
        ("s.py --html x a", "s.py --html x", "a"),
        ("--html x s.py a", "--html x s.py", "a"),
        ("s.py --html=x --lr 1 --no-open", "s.py --html=x --no-open", "--lr 1"),
        ("s.py --lr 1 -- --html x -- y", "s.py", "--lr 1 --html x -- y"),
        ("s.py --help", "s.py", "--help"),
        ("--help s.py", "--help s.py", ""),
        ("s.py --ht x", "s.py", "--ht x"),
        ("--title --html s.py", "--title --html s.py", ""),
        ("-m a.b --lr 1 --no-open", "-m a.b --no-open", "--lr 1"),
        ("--html x -m a.b -- --html y", "--html x -m a.b", "--html y"),
        ("s.py -m x", "s.py", "-m x"),
        ("--no-open - --lr 1", "--no-open -", "--lr 1"),
    ],
)
def test_arguments_are_split(given: str, own: str, theirs: str):
    found = _cli_run.split_run(["run", *given.split()])
    assert found == (["run", *own.split()], theirs.split())


def test_every_option_of_run_may_follow_the_script():
    actions = cli._parser()._subparsers._group_actions[0].choices["run"]._actions
    flags = {name for a in actions if a.nargs == 0 for name in a.option_strings}
    valued = {name for a in actions if a.nargs != 0 for name in a.option_strings}
    assert valued - {"-m"} == _cli_run.VALUED  # -m takes the place of the script
    assert flags - {"-h", "--help"} == _cli_run.FLAGS
