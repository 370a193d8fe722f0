"""However a script ends, what was recorded of it is told, or why it is not."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from gradviz import snapshots
from tests.gradviz.running.processes import ENGINE, Run, Seen, seen

STEP = """\
import gradtape as torch, os, signal, sys, threading
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
"""


def recorded(
    tmp_path: Path, gradviz: Run, text: str, *options: str, **more: object
) -> Seen:
    """Run a step and the text, with the data in x.json."""
    json = "--json", str(tmp_path / "x.json")
    return seen(
        tmp_path, STEP + text, gradviz, "run", *ENGINE, *json, *options, "s.py", **more
    )


def kept(tmp_path: Path) -> int:
    """Return how many nodes the recording has."""
    return len(snapshots.load(tmp_path / "x.json").nodes)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_script_and_keeps_its_recording(
    tmp_path: Path, gradviz: Run, name: str
) -> None:
    left = recorded(tmp_path, gradviz, f"signal.raise_signal(signal.{name})")
    assert left.status == -getattr(signal, name)
    assert kept(tmp_path) == 3


FUNCTION = """
class Waiting(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        END
        return x * 2

Waiting.apply(x)
"""


def test_a_signal_within_a_function_is_no_mistake_of_its_line(
    tmp_path: Path, gradviz: Run
) -> None:
    text = FUNCTION.replace("END", "signal.raise_signal(signal.SIGTERM)")
    left = recorded(tmp_path, gradviz, text)
    assert left.status == -signal.SIGTERM
    assert kept(tmp_path) == 3
    assert "no findings in 1 backward pass" in left.err
    assert "note:" not in left.err


def test_what_a_function_raised_is_not_raised_again_by_its_check(
    tmp_path: Path, gradviz: Run
) -> None:
    ended = "class Ended(BaseException): pass\n"
    left = recorded(tmp_path, gradviz, ended + FUNCTION.replace("END", "raise Ended"))
    assert left.err.count("Traceback") == 1
    assert kept(tmp_path) == 3


@pytest.mark.parametrize(
    ("ending", "by", "status"),
    [
        ("os._exit(4)", "os._exit", 4),
        ("os.execvp('sh', ['sh', '-c', 'exit 5'])", "os.execv", 5),
        ("os.execle('/bin/sh', 'sh', '-c', 'exit 6', {})", "os.execve", 6),
    ],
)
def test_an_end_past_python_is_told_before(
    tmp_path: Path, gradviz: Run, ending: str, by: str, status: int
) -> None:
    left = recorded(tmp_path, gradviz, ending)
    assert left.status == status
    said, *_, counted = left.err.splitlines()
    assert f"the script ends the process by {by};" in said
    assert counted.startswith("gradviz: recorded 3 nodes")
    assert kept(tmp_path) == 3


def test_a_thread_that_ends_the_process_is_named(tmp_path: Path, gradviz: Run) -> None:
    ending = "threading.Thread(target=os._exit, args=[6]).start()\nsignal.pause()"
    left = recorded(tmp_path, gradviz, ending)
    assert left.status == 6
    assert "a thread of the script ends the process by os._exit" in left.err


def test_threads_are_awaited_before_the_recording_ends(
    tmp_path: Path, gradviz: Run
) -> None:
    text = """
def work():
    threading.main_thread().join()
    (x * 3).sum().backward()
threading.Thread(target=work).start()
"""
    assert recorded(tmp_path, gradviz, text).status == 0
    assert kept(tmp_path) == 5  # of two passes


def test_outputs_go_where_the_command_was_given(tmp_path: Path, gradviz: Run) -> None:
    text = "os.mkdir('in'); os.chdir('in'); (x * float('nan')).sum().backward()"
    left = recorded(tmp_path, gradviz, text, "--findings", "found.json")
    assert "found.json" in left.files
    assert "(x * float('nan')).sum()" in left.err  # the line is quoted


def test_a_script_without_a_folder_keeps_its_recording(
    tmp_path: Path, gradviz: Run
) -> None:
    text = "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"
    left = recorded(tmp_path, gradviz, text, "--findings", "found.json")
    assert "found.json" in left.files
    assert kept(tmp_path) == 3


def test_a_long_expression_is_read(tmp_path: Path, gradviz: Run) -> None:
    text = "y = 0 * x\nz = torch.log(" + " + ".join(["y"] * 700) + ").sum()\n"
    left = recorded(tmp_path, gradviz, text + "z.backward()")
    assert left.status == 0
    assert "Traceback" not in left.err
    assert "recorded" in left.err


def test_words_that_nobody_reads_cost_nothing(tmp_path: Path, gradviz: Run) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "s.py").write_text(STEP)
    run = "run", *ENGINE, "--json", str(tmp_path / "x.json"), "s.py"
    assert gradviz(folder, *run, out=tmp_path / "out", err=None) == 0
    assert kept(tmp_path) == 3


@pytest.mark.parametrize(
    "ending",
    [
        "sys.stdout.close(); sys.stderr.close()",
        "os.close(0); os.close(1); os.close(2)",
        "sys.stdout = sys.stderr = None",
    ],
)
def test_closed_streams_cost_no_recording(
    tmp_path: Path, gradviz: Run, ending: str
) -> None:
    assert recorded(tmp_path, gradviz, ending).status == 0
    assert kept(tmp_path) == 3


def test_a_full_disk_costs_two_sentences(tmp_path: Path, gradviz: Run) -> None:
    left = recorded(tmp_path, gradviz, "sys.exit(7)", limits={"FSIZE": 900})
    assert left.status == 7
    here, elsewhere, *_, counted = left.err.splitlines()
    assert f"{tmp_path / 'x.json'} cannot be written" in here
    assert "x.json cannot be written" in elsewhere
    assert counted.startswith("gradviz: recorded 3 nodes")
    assert counted.endswith(" events.")
    assert not (tmp_path / "x.json").exists()


def test_out_of_memory_is_the_scripts_own_error(tmp_path: Path, gradviz: Run) -> None:
    text = "kept = []\nwhile True: kept.append(bytearray(10_000))"
    left = recorded(tmp_path, gradviz, text, limits={"AS": 1_500_000_000})
    assert left.status == 1
    trace, _, after = left.err.partition("\nMemoryError\n")
    assert trace.count("File") == 1
    assert "\ngradviz: recorded 3 nodes" in after
    assert kept(tmp_path) == 3


def test_a_signal_while_files_are_written_waits_for_them(
    tmp_path: Path, gradviz: Run
) -> None:
    text = """
import gradviz.export as export
write = export.write_bytes
def told_to_end(*given):
    signal.raise_signal(signal.SIGTERM)
    return write(*given)
export.write_bytes = told_to_end
"""
    assert recorded(tmp_path, gradviz, text).status == -signal.SIGTERM
    assert kept(tmp_path) == 3
