"""Stepping through a backward pass in a terminal, with the commands of pdb."""

from __future__ import annotations

import cmd
import inspect
import linecache
import sys
from collections.abc import Callable
from typing import Any, TextIO

from gradviz import ir
from gradviz.services import one_line
from gradviz.stepping.change import clipped, scaled, zeroed
from gradviz.stepping.control import PassControl
from gradviz.stepping.stop import NO_LINE, file_of
from gradviz.text.words import clean

_INTRO = "Backward, node by node. Type help for the commands, quit to give the pass up."
_AROUND = 3  # lines shown before and after the one that made a node
_OVER = "the pass is over"
_SHORT = {
    "s": "step",
    "n": "over",
    "next": "over",
    "u": "until",
    "run": "until",
    "b": "break",
    "cl": "clear",
    "i": "info",
    "inspect": "info",
    "l": "list",
    "w": "where",
    "c": "continue",
    "h": "help",
    "q": "abort",
    "quit": "abort",
    "exit": "abort",
    "EOF": "abort",
}


class StepShell(cmd.Cmd):
    """Reads commands until the pass is over; see :meth:`Stepper.interact`."""

    prompt = "(backward) "
    doc_header = "Commands (help COMMAND says more):"

    def __init__(
        self, stepper: PassControl, stdin: TextIO, stdout: TextIO, *, in_script: bool
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        # A terminal edits lines, and its history is at hand.
        self.use_rawinput = stdin is sys.stdin and stdin.isatty()
        self._stepper = stepper
        self._in_script = in_script
        self.attached = True

    # ---- moving ---------------------------------------------------------------------

    def do_step(self, text: str) -> None:
        """step [N]  (s)\nRun the next node, or the next N nodes."""
        self._go(lambda: self._stepper.step(int(text or 1)))

    def do_over(self, text: str) -> None:
        """over  (next, n)
        Run the nodes of this module call; stop before the first one outside."""
        self._go(self._stepper.over)

    def do_until(self, text: str) -> None:
        """until NODE  (run, u)
        Run until a node; NODE is its name, or a pattern: Mul*."""
        if not text:
            raise ValueError("until needs the name of a node, or a pattern: Mul*")
        self._go(lambda: self._stepper.run_to(text))

    def do_continue(self, text: str) -> None:
        """continue  (c)\nRun to the next breakpoint, or to the end."""
        self._go(self._stepper.resume)

    def do_abort(self, text: str) -> bool:
        """abort  (quit, q, Ctrl-D, Ctrl-C)
        Give the pass up; every .grad is as it was before."""
        self._stepper.abort()
        self._say(self._stepper.outcome)
        return True

    def do_detach(self, text: str) -> None:
        """detach
        Run this pass and the rest of the script without stopping."""
        if not self._in_script:
            raise ValueError("detach is for scripts under `gradviz run --step`")
        self.attached = False
        self._stepper.clear()
        self._stepper.resume()

    # ---- stopping -------------------------------------------------------------------

    def do_break(self, text: str) -> None:
        """break [NODE] [in MODULE] [above NORM] [below NORM] [nan] [nonzero]  (b)
        Stop from now on where all of these hold: break Mul* above 10. Without any,
        list the breakpoints."""
        if not text:
            marks = self._stepper.breakpoints
            lines = [f"{number}  {mark}" for number, mark in enumerate(marks)]
            self._say("\n".join(lines) or "There are no breakpoints.")
            return
        self._say(f"Will stop: {self._stepper.break_when(**_conditions(text))}")

    def do_clear(self, text: str) -> None:
        """clear [NUMBER]  (cl)\nForget one breakpoint, or all of them."""
        self._stepper.clear(int(text) if text else None)

    # ---- looking --------------------------------------------------------------------

    def do_where(self, text: str) -> None:
        """where  (w)\nSay again which node runs next, and what reached it."""
        self._say(repr(self._stepper))

    def do_info(self, text: str) -> None:
        """info [N]  (inspect, i)
        Show the values of the gradients that reached the node."""
        for number, gradient in enumerate(self._stepper.incoming):
            if text in ("", str(number)):
                self._say(f"gradient {number}: {gradient}")

    def do_list(self, text: str) -> None:
        """list  (l)\nShow the line that made the node, with the lines around it."""
        stop = self._stepper.stop
        site = None if stop is None else stop.site
        self._say(
            f"{NO_LINE[:1].upper()}{NO_LINE[1:]}." if site is None else listing(site)
        )

    # ---- changing -------------------------------------------------------------------

    def do_replace(self, text: str) -> None:
        """replace zero | scale FACTOR | clip NORM [N]
        Let the node receive another gradient; N counts its outputs from 0."""
        how, *rest = text.split() or [""]
        number = 1.0 if how == "zero" else float(rest.pop(0)) if rest else None
        index = int(rest[0]) if rest else 0
        if how not in _CHANGES or number is None:
            raise ValueError("replace needs: zero, scale FACTOR or clip NORM")
        gradients = self._stepper.incoming
        if not 0 <= index < len(gradients) or gradients[index] is None:
            raise ValueError(f"no gradient {index} reached this node")
        self._stepper.replace(_CHANGES[how](gradients[index], number), index)
        self._say(repr(self._stepper))

    # ---- the loop -------------------------------------------------------------------

    def onecmd(self, line: str) -> bool:
        """Run a line; what it raises is said in one sentence, and the loop goes on."""
        try:
            return bool(super().onecmd(_expand(line)))
        except Exception as error:
            if self._stepper.error is not None:
                raise
            told = isinstance(error, ValueError | IndexError | RuntimeError)
            self._say(f"*** {error}" if told else f"*** {one_line(error)}")
        return False

    def postcmd(self, stop: bool, line: str) -> bool:
        """End the loop with the pass."""
        return stop or self._stepper.done

    def emptyline(self) -> bool:
        """Enter alone repeats the last command, as in pdb."""
        return self.onecmd(self.lastcmd or "step")

    def default(self, line: str) -> None:
        """Name what is not known, and the way to what is."""
        word = clean(line.split()[0], 40)
        self._say(f"*** There is no command {word}; help lists them.")

    def do_help(self, arg: str) -> None:
        """help [COMMAND]  (h)
        List the commands, or say what one does."""
        method = getattr(self, f"do_{_expand(arg)}", None)
        if arg and method is not None:
            self._say(inspect.cleandoc(method.__doc__))
        else:
            super().do_help(arg)

    def _go(self, command: Callable[[], object]) -> None:
        command()
        self._say(repr(self._stepper))

    def _say(self, text: str) -> None:
        self.stdout.write(f"{text}\n")


_CHANGES: dict[str, Callable[[Any, float], Any]] = {
    "zero": lambda gradient, number: zeroed(gradient),
    "scale": scaled,
    "clip": clipped,
}


def interact(
    stepper: PassControl,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    *,
    in_script: bool = False,
) -> bool:
    """Take commands until the pass is over; leave it given up if they end before.

    Returns whether later passes should be stepped through too.
    """
    shell = StepShell(
        stepper, stdin or sys.stdin, stdout or sys.stdout, in_script=in_script
    )
    try:
        shell.cmdloop(f"{_INTRO}\n{stepper!r}")
    except KeyboardInterrupt:
        shell.stdout.write("\n")
        shell.do_abort("")
    finally:
        stepper.abort()
    return shell.attached


def listing(site: ir.Site) -> str:
    """Return the lines around a site, with a caret under its expression.

    >>> site = ir.Site("nowhere.py", 3, 3, 5, 10, "y = x.exp()")
    >>> print(listing(site))
    nowhere.py:3
    ->   3  y = x.exp()
                ^^^^^
    """
    lines = linecache.getlines(site.file)
    first = max(1, site.line - _AROUND)
    known = lines[site.line - 1 : site.line] and lines[site.line - 1].rstrip("\n")
    shown = [f"{clean(file_of(site))}:{site.line}"]
    if known != site.text.split("\n")[0]:  # the file changed, or there is none
        first, lines = site.line, [""] * (site.line - 1) + site.text.split("\n")
    for number in range(first, min(len(lines), site.end_line + _AROUND) + 1):
        mark = "->" if number == site.line else "  "
        text = lines[number - 1].rstrip()
        shown.append(f"{mark} {number:>3}  {clean(text)}".rstrip())
        if number == site.line and site.column is not None:
            end = site.end_column if site.end_line == site.line else None
            width = max(1, (end or len(text) + 1) - site.column)
            shown.append(" " * (7 + site.column) + "^" * width)
    return "\n".join(shown)


def _expand(line: str) -> str:
    word, _, rest = line.strip().partition(" ")
    return f"{_SHORT.get(word, word)} {rest}".strip()


def _conditions(text: str) -> dict[str, Any]:
    """Read "Mul* in encoder.* above 10 nan" as what ``break_when`` takes."""
    words = text.split()
    found: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        if word in ("nan", "nonzero"):
            found[word] = True
        elif word in ("above", "below", "in"):
            if not words:
                raise ValueError(f"{word} needs a value")
            value = words.pop(0)
            found["module" if word == "in" else word] = (
                value if word == "in" else float(value)
            )
        else:
            found["node"] = word
    return found
