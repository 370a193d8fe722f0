"""``gradviz run``: record a script, or step through it, and say what was found."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gradviz._capture.detail import BUDGET, How
from gradviz._capture.recorder.raw import KEPT_STEPS
from gradviz.cli import findings
from gradviz.cli.arguments import above_one, at_least
from gradviz.cli.closing import said
from gradviz.errors import ExportError, GradvizError
from gradviz.watching.ranks import launched_rank, path_of_rank, with_process

if TYPE_CHECKING:
    from gradviz.cli.findings import Telling
    from gradviz.running.ending import Ending
    from gradviz.running.main_module import Program
    from gradviz.running.script import Outcome
    from gradviz.running.voice import Voice

_RUN = """\
Runs SCRIPT with its arguments as Python would, or a module as `python -m` would,
records every operation and backward pass, writes a page that shows them, and says on
stderr which line is to blame if something went wrong with the gradients, and what to
write instead. The script's output, errors and exit status stay its own; if it raises,
what was recorded until then is still written, and so it is if it is interrupted, told
to end, or out of memory. Only SIGKILL, which no program can answer, loses a recording.
"""


_NOTHING_TO_RUN = (
    "name a script, or a module after -m, as in `gradviz run train.py`; "
    "see `gradviz run --help`."
)
_ONE_BASELINE = (
    "--write-baseline is for one process: run the script without its launcher, or "
    "compare the ranks with `gradviz merge`."
)
_STDERR = Path("-")
_TRACED = "gradviz: what each line assigned (line, name, shape, dtype):"
_NOTHING_TRACED = "gradviz: no line assigned a tensor."
_OUTPUTS = {
    "html": "the page to write; with no output and no --format: SCRIPT's name.html, in "
    "the current folder",
    "json": "the recording as data, for later",
}


def add_run(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the others."""
    run = commands.add_parser(
        "run",
        help="record a script and show its graph",
        description=_RUN,
        usage="gradviz run [options] (SCRIPT | -m MODULE) [options] [--] "
        "[arguments of the script …]",
        allow_abbrev=False,
    )
    what = run.add_mutually_exclusive_group()
    what.add_argument(
        "script", nargs="?", type=Path, metavar="SCRIPT", help="- is stdin"
    )
    what.add_argument("-m", dest="module", metavar="MODULE", help="run this module")
    for form, words in _OUTPUTS.items():
        run.add_argument(f"--{form}", type=Path, metavar="OUT", help=words)
    run.add_argument(
        "--engine",
        choices=["torch", "gradtape"],
        help="what `import torch` gives; default: the installed PyTorch, and gradtape "
        "for a script that imports gradtape",
    )
    run.add_argument(
        "--step",
        action="store_true",
        help="go through every backward pass node by node, with commands as in pdb",
    )
    run.add_argument("--title", metavar="T", help="the title of the page")
    run.add_argument(
        "--steps",
        type=at_least(1),
        default=KEPT_STEPS,
        metavar="N",
        help=f"keep the last N backward passes; default: {KEPT_STEPS}",
    )
    run.add_argument(
        "--keep-compiled",
        action="store_true",
        help="leave what torch.compile made compiled, and its inside unseen; default: "
        "it runs eagerly while recorded",
    )
    run.add_argument(
        "--detail",
        choices=get_args(How),
        default="auto",
        help="auto: values and gradients of the first steps, of those after something "
        "new or unusual, and of as many others as the budget allows; full: of all",
    )
    run.add_argument(
        "--budget",
        type=above_one,
        default=BUDGET,
        metavar="X",
        help="with --detail auto: looking in full makes the run at most X times as "
        f"long; default: {BUDGET}",
    )
    run.add_argument(
        "--keep",
        action="append",
        metavar="PATTERN",
        help="keep a thumbnail of all that a pattern as '*.attn' names: modules with "
        "all inside, tensors, ops; may be given again; default: of some of all",
    )
    run.add_argument(
        "--trace",
        nargs="?",
        const=_STDERR,
        type=Path,
        metavar="=FILE",
        help="tell which tensors each line assigned, with shapes and dtypes, on stderr "
        "or in FILE (as --trace=FILE); lines of loops three times",
    )
    run.add_argument(
        "--no-open", action="store_true", help="do not open the page in a browser"
    )
    findings.add_findings(run)
    run.set_defaults(execute=_run)


# The options of `run`, which may also follow SCRIPT.
VALUED = {
    *("--html", "--json", "--engine", "--steps", "--title"),
    *("--detail", "--budget", "--keep", "--trace"),
    *findings.VALUED,
}
_ALONE = {"--trace"}  # whose value, if any, follows "=": the next word may be SCRIPT
FLAGS = {"--keep-compiled", "--no-open", "--step", *findings.FLAGS}


def split_run(
    given: list[str],
    valued: Collection[str] = frozenset(VALUED),
    flags: Collection[str] = frozenset(FLAGS),
) -> tuple[list[str], list[str]]:
    """Split the arguments of a command into ours and the script's, each in order.

    Ours are everything up to SCRIPT, and behind it the command's options, until "--".
    """
    own, theirs = given[:1], list[str]()
    script_seen = False
    rest = iter(given[1:])
    for word in rest:
        if script_seen and word == "--":
            theirs += rest
        elif word == "-m" and not script_seen:
            own += [word, *islice(rest, 1)]
            script_seen = True
        elif word in _ALONE and word in valued:
            own.append(f"{word}=-")
        elif word in valued:
            own += [word, *islice(rest, 1)]
        elif word in flags or word.partition("=")[0] in valued:
            own.append(word)
        elif script_seen:
            theirs.append(word)
        else:
            own.append(word)
            script_seen = word == "-" or not word.startswith("-")
    return own, theirs


def _run(options: argparse.Namespace) -> Ending:
    from gradviz.running.main_module import module_named, script_at
    from gradviz.running.script import Wanted, run_program
    from gradviz.running.voice import Voice

    module, script = options.module, options.script
    if module is None and script is None:
        raise GradvizError(_NOTHING_TO_RUN)
    if options.step and (_targets(options) or findings.are_about_findings(options)):
        raise GradvizError("--step records nothing: leave --html and the others out.")
    program = script_at(script) if module is None else module_named(module)
    if options.step:
        return _run_stepped(program, options)
    rank = launched_rank()
    if rank is not None and options.write_baseline:
        raise GradvizError(_ONE_BASELINE)
    stem = script.stem if module is None else module.rpartition(".")[2]
    stem = "stdin" if stem == "-" else stem
    if _targets(options).keys() <= {"trace"} and options.format is None:
        if rank is None:
            options.html = Path(f"{stem}.html")
        else:  # for `gradviz merge` to put together
            options.json = Path(f"{stem}.json")
    if rank is not None:
        _name_after(rank, options)
    _check_targets(program, options)
    telling = findings.telling(program.first, program.file, options)
    graph = options.html is not None or options.json is not None
    wanted = Wanted(
        options.title or program.name,
        options.steps,
        graph,
        keep_compiled=options.keep_compiled,
        detail=options.detail,
        budget=options.budget,
        keep=options.keep and tuple(options.keep),
        lines=options.trace is not None,
    )
    voice = Voice()
    return run_program(
        program,
        options.for_script,
        engine=options.engine,
        wanted=wanted,
        voice=voice,
        deliver=partial(_deliver, telling=telling, options=options, voice=voice),
        whole_process=options.whole_process,
    )


def _targets(options: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write, by the option that names them."""
    names = [*_OUTPUTS, "findings", "trace", *["baseline"][: options.write_baseline]]
    found = {name: getattr(options, name) for name in names}
    return {
        name: target for name, target in found.items() if target not in (None, _STDERR)
    }


def _check_targets(program: Program, options: argparse.Namespace) -> None:
    """Refuse what cannot be written before hours of training, not after.

    Nor may an output take the place of the script, or of another output. A script that
    changes its folder, or loses it, changes nothing about where its outputs go.
    """
    from gradviz.export import check_target
    from gradviz.render.html import read_bundle

    taken = {Path(program.file).resolve(): "the script itself"}
    for form, target in _targets(options).items():
        place = check_target(target).resolve()
        if place in taken:
            raise GradvizError(f"{target} is {taken[place]}; name another file.")
        taken[place] = "another output"
        setattr(options, form, Path(os.path.abspath(check_target(target))))
    if options.html is not None:
        read_bundle()


def _name_after(rank: int, options: argparse.Namespace) -> None:
    """Put the rank into the names of all files: every process writes its own."""
    for form, target in _targets(options).items():
        setattr(options, form, path_of_rank(target, rank))
    options.no_open = True


def _run_stepped(program: Program, options: argparse.Namespace) -> Ending:
    from gradviz.running.script import Wanted, run_program
    from gradviz.running.voice import Voice

    wanted = Wanted(program.name, 1, graph=False, findings=False, step=True)
    return run_program(
        program,
        options.for_script,
        engine=options.engine,
        wanted=wanted,
        voice=Voice(),
        whole_process=options.whole_process,
    )


def _deliver(
    outcome: Outcome, *, telling: Telling, options: argparse.Namespace, voice: Voice
) -> int | None:
    """Write the files, say what was found and recorded, and open the page.

    Returns the exit status that findings give to a script which ended well.
    """
    from gradviz.reporting.baseline import dumps
    from gradviz.reporting.forms import written as document

    report = None
    with voice.failures("what was found"):
        report = telling.report(outcome)
    files = _recordings(outcome, options)
    if report is not None and options.findings is not None:
        files["findings"] = lambda: document(report, telling.written).encode()
    if report is not None and options.write_baseline:
        files["baseline"] = partial(dumps, report)
    text = "\n".join(outcome.lines)
    if options.trace == _STDERR:
        voice.say(*((_TRACED, "", text) if text else (_NOTHING_TRACED,)), "")
    elif options.trace is not None:
        _written({"trace": lambda: f"{text}\n".encode()}, options, voice)
    written = _written(files, options, voice)
    if report is not None or outcome.snapshot is not None:
        with voice.failures("what was found"):
            voice.say(said(outcome, report, telling.said, written, voice.stream))
    if "html" in written and not options.no_open:
        from gradviz.showing.browser import open_page

        open_page(written["html"])
    return telling.status(report)


def _recordings(
    outcome: Outcome, options: argparse.Namespace
) -> dict[str, Callable[[], bytes]]:
    """Return what makes each file of the recording, by its option."""
    from gradviz.export import FORMS

    snapshot = outcome.snapshot
    # Of several processes even the error of one that recorded nothing is wanted.
    wanted = not outcome.is_empty or launched_rank() is not None
    if snapshot is None or not wanted:
        return {}
    told = with_process(snapshot, outcome.passes)
    forms = [form for form in _OUTPUTS if getattr(options, form) is not None]
    return {form: partial(FORMS[form], told) for form in forms}


def _written(
    files: Mapping[str, Callable[[], bytes]], options: argparse.Namespace, voice: Voice
) -> dict[str, Path]:
    """Write the files; return where they are, by option, without those that failed."""
    from gradviz.text.progress import Progress

    written: dict[str, Path] = {}
    for name, encode in files.items():
        target: Path = getattr(options, name)
        with voice.failures(f"--{name}"), Progress(voice.stream) as progress:
            progress.says(f"writing {target}")
            written[name] = _write_somewhere(encode(), target, voice)
    return written


def _write_somewhere(data: bytes, target: Path, voice: Voice) -> Path:
    """Write the file; where that has become impossible, into a temporary folder."""
    from gradviz.export import write_bytes

    try:
        return write_bytes(data, target)
    except ExportError as error:
        voice.say(f"gradviz run: {error}")
        return _write_in_temporary_folder(data, target.name)


def _write_in_temporary_folder(data: bytes, name: str) -> Path:
    from gradviz.export import write_bytes
    from gradviz.snapshots import reason

    try:
        folder = Path(tempfile.mkdtemp(prefix="gradviz-"))
    except OSError as error:
        why = reason(error)
        raise ExportError(f"it cannot be kept elsewhere either: {why}.") from None
    try:
        return write_bytes(data, folder / name)
    except ExportError:
        folder.rmdir()
        raise
