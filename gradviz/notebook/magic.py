"""The IPython extension: the magics ``%gradviz`` and ``%%gradviz``."""

from __future__ import annotations

import linecache
import re
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import getdoc
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from gradviz._capture import record
from gradviz._capture.open_log import import_engines
from gradviz._capture.why import why
from gradviz.errors import GradvizError
from gradviz.export import check_target, export_html
from gradviz.notebook.cells import ErrorHook, Following
from gradviz.notebook.questions import Question
from gradviz.notebook.release import ReleaseService, release
from gradviz.render.mime import TEXT
from gradviz.render.text import to_text
from gradviz.services import Shown
from gradviz.showing.notebook import Forms, Notebook, notebook_of
from gradviz.showing.show import show
from gradviz.snapshots import as_snapshot

if TYPE_CHECKING:
    from gradviz._capture.session import Session
    from gradviz.showing.live_view import LiveView


_SHOWN_BY_THEMSELVES = ("gradviz.ir.Snapshot", "gradviz._capture.session.Session")
_LONG_S = 0.8  # a cell that is over sooner shows its graph once, at its end
_EXPRESSION_FILE = "<%gradviz>"
_ON = (
    "gradviz follows every cell from here on; below one that fails, a card names the "
    "line to blame. `%gradviz off` ends it."
)
_NO_EXPRESSION = (
    "Name what to show, as in `%gradviz loss`; to record a whole cell, begin it with "
    "`%%gradviz`."
)


@magics_class
class GradvizMagics(Magics):
    """The two magics.

    What they show is kept by :class:`gradviz.showing.notebook.Notebook`.
    """

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._notebook = notebook_of(shell)
        self._recordings: list[_Recording] = []
        self._errors = ErrorHook(shell)
        self._following: Following | None = None
        self._last: Session | None = None

    @no_var_expand
    @line_cell_magic
    def gradviz(self, line: str, cell: str | None = None) -> None:
        """See the autograd graph behind a tensor, or record a cell and see its graph.

        %gradviz loss
            Show the graph that `loss.backward()` would walk. Any expression will do
            that gives a tensor, a recorder or a snapshot: `%gradviz model(x).sum()`.

        %%gradviz
            As the first line of a cell: record what the cell does, and show it below
            the cell's own output: the graph, and, if the cell calls `backward()`, the
            gradients that flowed. If the cell raises, what it did until then is shown.

        %gradviz on
            Follow every cell from now on, at little cost: below a cell that fails, a
            card names the line to blame, says why, and what to write instead.

        %gradviz off
            Stop following cells, and stop recording this cell here; what was recorded
            until now is shown at its end. Also let go of the views that are kept in
            the kernel.

        %gradviz why model.encoder.weight
            Say why a parameter, a module, a tensor or a loss of the last recorded cell
            is as it is, back to the line that decided; a question may follow, as in
            `%gradviz why h writes`. `%gradviz why error` is about the last exception.

        %gradviz release
            Let go of the tensors that the last error's traceback keeps alive.

        Options come first and work for both:

        --html FILE   also write a page that opens offline, without a notebook
        --title T     the title of the graph

        Examples:

        ::

            %gradviz --html loss.html loss

            %%gradviz --title "one step"
            loss = criterion(model(images), labels)
            loss.backward()
        """
        __tracebackhide__ = True  # the user's own error needs no frame of ours
        if line.split()[:1] == ["--help"]:
            print(getdoc(GradvizMagics.gradviz))
            return
        options, rest = self._parse(line)
        if cell is not None:
            if rest:
                raise UsageError(
                    f"`%%gradviz` takes options only, and `{rest}` is none; the code "
                    "to record goes below it."
                )
            self._record(options, line, cell)
        elif rest == "off":
            self._off()
        elif re.match(r"why\s", rest) and "why" not in self.shell.user_ns:
            self._why(rest[3:].strip())
        elif rest == "release":
            print(release(getattr(sys, "last_value", None)))
        elif rest == "on":
            if self._following is None:
                self._following = Following(self.shell, self._errors)
            print(_ON)
        elif not rest:
            raise UsageError(_NO_EXPRESSION)
        else:
            self._show(options, rest)

    def _why(self, asked: str) -> None:
        """Answer from the newest recording: of a cell, of a `with`, or of all cells."""
        name, _, question = asked.rstrip("? ").partition(" ")
        answer = _sentences(why, name, question.strip() or None)
        if hasattr(self.shell, "kernel"):
            from IPython.display import display

            display(answer)
        else:
            print(answer)

    def _parse(self, line: str) -> tuple[Any, str]:
        options, rest = options_of(line)
        if options.html is not None:
            options.html = self.shell.var_expand(options.html)
            _sentences(check_target, options.html)  # before a long cell, not after it
        return options, rest

    # ---- a line ---------------------------------------------------------------------

    def _show(self, options: Any, expression: str) -> None:
        __tracebackhide__ = True
        value = self._evaluate(expression)
        snapshot = _sentences(self._from_user_frame, lambda: as_snapshot(value))
        title = options.title or snapshot.title or expression
        _sentences(_deliver, replace(snapshot, title=title), options.html)

    def _evaluate(self, expression: str) -> Any:
        __tracebackhide__ = True
        lines = [expression + "\n"]
        linecache.cache[_EXPRESSION_FILE] = (
            len(expression),
            None,
            lines,
            _EXPRESSION_FILE,
        )
        try:
            code = compile(expression, _EXPRESSION_FILE, "eval")
        except SyntaxError as error:
            raise UsageError(
                f"`{expression}` is not a Python expression: {error.msg}."
            ) from None
        try:
            return eval(code, self.shell.user_ns)
        except Exception as error:
            trace = error.__traceback__
            if trace and trace.tb_next and trace.tb_next.tb_next:
                raise  # it happened in a function, and IPython shows where
            raise UsageError(
                f"`{expression}` raises {type(error).__name__}: {error}"
            ) from None

    def _from_user_frame(self, action: Callable[[], Any]) -> Any:
        """Call the action from where the user's variables are: it looks for names."""
        return eval("action()", self.shell.user_ns, {"action": action})

    # ---- a cell ---------------------------------------------------------------------

    def _record(self, options: Any, line: str, cell: str) -> None:
        """Record the running cell from here on; run it, if it does not run yet."""
        if cell.strip():
            self.shell.run_cell(f"%%gradviz {line}\n{cell}")
            return
        file, label = _running_cell(self.shell)
        import_engines("".join(linecache.getlines(file)))
        _list_as_typed(file, line)
        recording = _Recording(options, options.title or label)

        self._last = recording.recorder  # so that `%gradviz why` can ask it

        def finish(error: BaseException | None) -> None:
            self._recordings.remove(recording)
            self._errors.remove(recording.explain)
            recording.finish(error)

        if not self._notebook.at_end_of_cell(finish):
            raise UsageError("There is no cell to record.")
        self._recordings.append(recording)
        self._errors.add(recording.explain)
        self._from_user_frame(recording.recorder.__enter__)
        recording.follow(self._notebook)

    def _off(self) -> None:
        stopped = [recording for recording in self._recordings if recording.stop()]
        for recording in stopped:
            self._errors.remove(recording.explain)
        followed = self.stop_following()
        self._last = None
        closed = self._notebook.close_widgets()
        if followed:
            print("gradviz follows no cells any more.")
        elif not stopped and not closed:
            print("gradviz was not recording, and keeps no views.")

    def stop_following(self) -> bool:
        """Undo ``%gradviz on``; return whether it was on."""
        following, self._following = self._following, None
        if following is not None:
            following.close()
        return following is not None


class _Recording:
    """One ``%%gradviz``: records until it is stopped or its cell ends, then shows."""

    def __init__(self, options: Any, title: str) -> None:
        self._html = options.html
        self.recorder = record(title=title)
        self._live: LiveView | None = None
        self._active = True

    def follow(self, notebook: Notebook) -> None:
        """Show what the cell does while it runs, where it runs for long enough."""
        if hasattr(notebook.shell, "kernel"):
            source = self.recorder.source()
            self._live = notebook.follow(source, delay=_LONG_S)

    def stop(self, error: BaseException | None = None) -> bool:
        """Stop recording; return whether it was still going on."""
        if not self._active:
            return False
        self._active = False
        self.recorder.end(error)
        return True

    def explain(self, error: BaseException) -> None:
        """Stop before IPython prints the error, which gets a note by that."""
        self.stop(error)

    def finish(self, error: BaseException | None = None) -> None:
        self.stop(error)
        offers = self.recorder.services()
        if error is not None:
            offers["release"] = ReleaseService(error)
        try:
            shown = Shown(self.recorder.snapshot(), offers)
            if self._live is not None and self._live.end(shown):
                _write_page(shown, self._html)
            else:
                _deliver(shown, self._html)
        except GradvizError as failure:
            print(f"gradviz: {failure}", file=sys.stderr)
        except Exception as failure:  # the cell's own outcome is what counts here
            reason = f"{type(failure).__name__}: {failure}"
            print(f"gradviz could not show the graph: {reason}", file=sys.stderr)


def _running_cell(shell: Any) -> tuple[str, str]:
    """Return the running cell's file and what IPython calls it: "Cell In[3]"."""
    frame = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        label = shell.compile.format_code_name(file)
        if label:
            return file, " ".join(label)
        frame = frame.f_back
    return "", ""


def _list_as_typed(file: str, line: str) -> None:
    """Let listings of a cell begin as the user typed it, and stay valid Python."""
    entry: Any = linecache.cache.get(file) or (0, None, [], "")
    size, time, lines, name = entry
    if lines[:1] == [record_in_place([f"%%gradviz {line}\n", "pass\n"])[0]]:
        listed = [f"# %%gradviz {line}".rstrip() + "\n", *lines[1:]]
        linecache.cache[file] = size, time, listed, name


def _deliver(x: object, html: str | None) -> None:
    """Show the snapshot, then write the page: a full disk must not hide the graph."""
    show(x)
    _write_page(x, html)


def _write_page(x: object, html: str | None) -> None:
    if html is not None:
        print(f"Page: {export_html(x, html)}")


def _sentences(action: Callable[..., Any], *arguments: Any) -> Any:
    """Call the action; turn errors of gradviz into one sentence below the cell."""
    __tracebackhide__ = True
    try:
        return action(*arguments)
    except GradvizError as error:
        sentence = str(error)
        raise UsageError(sentence[:1].upper() + sentence[1:]) from None


def load(shell: Any) -> None:
    """Add the magics and let recorders and snapshots show themselves."""
    shell.register_magics(GradvizMagics)
    if record_in_place not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(record_in_place)
        shell.input_transformer_manager.token_transformers.append(Question)
    formatter = shell.display_formatter.mimebundle_formatter
    for name in _SHOWN_BY_THEMSELVES:
        formatter.for_type_by_name(*name.rsplit(".", 1), partial(_forms, shell))


def unload(shell: Any) -> None:
    """Take everything back that loading added; the pictures stay in the notebook."""
    magics = shell.magics_manager.registry.get("GradvizMagics")
    if magics is not None:
        magics.stop_following()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("gradviz", None)
    shell.magics_manager.registry.pop("GradvizMagics", None)
    if record_in_place in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(record_in_place)
        shell.input_transformer_manager.token_transformers.remove(Question)
    formatter = shell.display_formatter.mimebundle_formatter
    for name in _SHOWN_BY_THEMSELVES:
        formatter.pop(name, None)
    notebook_of(shell).close()


def _forms(shell: Any, value: object) -> Forms:
    snapshot = as_snapshot(value)
    if not hasattr(shell, "kernel"):  # a terminal
        return {TEXT: to_text(snapshot)}, {}
    return notebook_of(shell).forms(snapshot)


def options_of(line: str) -> tuple[Namespace, str]:
    """Return the leading options of a line, and the untouched rest.

    >>> options_of("--title t loss.sum()")
    (Namespace(title='t', html=None), 'loss.sum()')
    """
    parser = _Parser(prog="%gradviz", add_help=False)
    parser.add_argument("--title")
    parser.add_argument("--html")
    words, rest = split_options(line)
    return parser.parse_args(words), rest


class _Parser(ArgumentParser):
    """Answers a mistake as IPython does, and says where the options are listed."""

    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"{message}; `%gradviz?` lists what it takes.")


def split_options(line: str) -> tuple[list[str], str]:
    """Split a line into the words of its leading options and the untouched rest.

    >>> split_options('--title "a b" x["c  d"] - 1')
    (['--title', 'a b'], 'x["c  d"] - 1')
    """
    words: list[str] = []
    rest = line.strip()
    while match := re.match(r"--[A-Za-z][\w-]*(=?)", rest):
        count = 1 if match[1] else 2  # an option and its value
        for _ in range(count):
            word, rest = _first_word(rest)
            words += word
    return words, rest


def _first_word(text: str) -> tuple[list[str], str]:
    """Take one word off, unquoted as a shell does; none if there is none left."""
    found = re.match(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", text)
    if found is None:
        return [], text
    lexer = shlex.shlex(found[0], posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = ""  # on Windows a backslash separates folders
    return list(lexer), text[found.end() :].lstrip()


def record_in_place(lines: list[str]) -> list[str]:
    """Turn ``%%gradviz`` into a call above the cell's own lines, which stay.

    So IPython runs the cell as any other: its result, its traceback, its line numbers
    and top-level ``await`` are untouched. The call only starts the recorder.

    >>> print(*record_in_place(["%%gradviz --title a\\n", "loss = f(x)\\n"]), sep="")
    get_ipython().run_cell_magic('gradviz', '--title a', '\\n')
    loss = f(x)
    <BLANKLINE>
    """
    found = (
        re.fullmatch(r"%%gradviz(?:[ \t]+(.*))?", lines[0].rstrip()) if lines else None
    )
    if found is None or not "".join(lines[1:]).strip():
        return lines
    from IPython.core.inputtransformer2 import cell_magic

    start = f"get_ipython().run_cell_magic('gradviz', {found[1] or ''!r}, '\\n')\n"
    return [start, *cell_magic(lines[1:])]
