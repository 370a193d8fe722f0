"""CheckpointError and its sentences: PyTorch's, and one about values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, NoReturn

from .._common.site import RawSite, resolve, user_stack
from .._graph.observe import Event, OpCalled, observe
from .._tensor.tensor import Tensor


class CheckpointError(RuntimeError):
    """Raised where a checkpointed function does not compute the same again."""


INTERNAL: Final = (
    "Something went unexpectedly wrong in activation checkpoint. Please report this "
    "bug by filing an issue to PyTorch."
)

DEBUG_TIP: Final = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.\n"
)

OTHER_NUMBER: Final = (
    "torch.utils.checkpoint: A different number of tensors was saved during the "
    "original forward and recomputation.\n"
    "Number of tensors saved during forward: {forward}\n"
    "Number of tensors saved during recomputation: {recomputed}.\n" + DEBUG_TIP
)

OTHER_KINDS: Final = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have "
    "different metadata than during the forward pass.\n{tensors}.\n" + DEBUG_TIP
)

ONE_KIND: Final = (
    "tensor at position {at}:\nsaved metadata: {was}\nrecomputed metadata: {now}\n"
)

OTHER_VALUES: Final = (
    "torch.utils.checkpoint: Recomputed values for the following tensors are different "
    "from those of the forward pass, whose gradient is wanted.\n{tensors}"
    "The function must compute the same whenever it runs: it should not depend on "
    "state that changes, nor write to its arguments. Pass `determinism_check='none'` "
    "to go on without this check.\n" + DEBUG_TIP
)

TOO_MANY: Final = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
    "during the original forward pass.\n" + DEBUG_TIP
)

UNPACKED_TWICE: Final = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
    "unpacked once. {extra}If you are calling ctx.saved_tensors in backward, make sure "
    "to do so only once. Otherwise please open an issue with details on your use case."
)

OVERLAP: Final = (
    "Performing two backward calls that overlap (i.e. require the same saved "
    "activation in order to compute gradients) is not allowed while under the "
    "torch.utils.checkpoint.GraphExecGroup context. "
)

SAY_WHICH: Final = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
    "exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
    "details on the differences between the two variants."
)

SAY_WHICH_OF_SEQUENCE: Final = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should "
    "be passed explicitly. In version 2.9 we will raise an exception if use_reentrant "
    "is not passed. use_reentrant=False is recommended, but if you need to preserve "
    "the current default behavior, you can pass use_reentrant=True. Refer to docs for "
    "more details on the differences between the two variants."
)

SUPPRESSED: Final = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
    "exception raised during the checkpointed forward. This is not supported because "
    "checkpoint cannot return a value for a failed forward."
)

NOT_ALL_LEAVES: Final = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
    "passing an `inputs` parameter to .backward(). To resolve this error, you can "
    "either set use_reentrant=False, or call .backward() without passing the `inputs` "
    "argument."
)

NO_GRADIENT: Final = (
    "none of output has requires_grad=True, this checkpoint() is not necessary"
)


# ---- ``debug=True``: the ops of both runs, listed ----

_RULE: Final = "-" * 78

REPORT: Final = (
    " An error happened while unpacking tensors; dumping logs of latest computation\n"
    "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
    "Scroll all the way down for guidance on how to navigate these logs.\n\n"
    f"+{_RULE}+\n"
    "|        1. Stack traces of the operators that ran in the original forward     |\n"
    f"+{_RULE}+\n\n"
    "{forward_traces}\n"
    f"+{_RULE}+\n"
    "|        2. Stack traces of the operators that ran during recomputation        |\n"
    f"+{_RULE}+\n\n"
    "{recompute_traces}\n"
    f"+{_RULE}+\n"
    "|       3. Log of operators in the original forward and recomputation          |\n"
    f"+{_RULE}+\n"
    "(Scroll up to correlate stack traces with each operation listed below. This\n"
    " helps identify their source in the code.)\n\n"
    "Operations executed during the original forward:\n\n{forward_ops}\n\n"
    "Operations executed during recomputation:\n\n{recompute_ops}\n\n"
    f"+{_RULE}+\n"
    " ERROR: Detected non-determinism while running activation checkpointing\n\n"
    " You are seeing this error because you passed `debug=True` to checkpoint and\n"
    " tensors to be saved during the original forward and differ between those saved\n"
    " during recomputation. This can happen if different operators were ran in the\n"
    " original forward and in the recomputation.\n\n"
    " To identify where the mismatch may be coming from, you can do the following:\n\n"
    " 1) Compare the operators ran during original forward and recomputation to\n"
    "    see where they differ. These operators are printed above in the order they\n"
    "    were executed.\n\n"
    " 2) Review the stack trace for each operator to locate its invocation source.\n"
    "    Each operator's stack trace is printed in their execution order.\n\n"
    " Note that the logs can be quite long. Here's how they are structured:\n"
    " (Tip: you can Ctrl-f for these headers)\n\n"
    " 1. Stack traces of the operators that ran in the original forward\n"
    " 2. Stack traces of the operators that ran during recomputation\n"
    " 3. Log of operators in the original forward and recomputation\n"
    " 4. Error message                                             <--- You are here\n"
    f"{_RULE}--\n"
)


class Call(NamedTuple):
    """One op that ran, as text, and the user's frames that called it."""

    text: str
    stack: tuple[RawSite, ...]


class Log:
    """The ops of one run. Tensors are numbered in order of appearance."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Tensor] = []  # so that no id is used twice

    @contextlib.contextmanager
    def record(self) -> Generator[None, None, None]:
        """Log the ops that run in the block."""
        self.calls.clear()
        self._numbers.clear()
        try:
            with observe(self._note):
                yield
        finally:
            self._kept.clear()

    def _note(self, event: Event) -> None:
        if type(event) is OpCalled:
            inputs = ", ".join(self._shown(each) for each in event.inputs)
            outputs = ", ".join(self._typed(each) for each in event.outputs)
            text = f"{outputs} = torch._ops.aten.{event.name}.default({inputs})"
            self.calls.append(Call(text, user_stack()))

    def _shown(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self._shown(each) for each in value) + "]"
        if not isinstance(value, Tensor):
            return repr(value)
        number = self._numbers.setdefault(id(value), len(self._numbers))
        self._kept.append(value)
        return f"${number}"

    def _typed(self, value: Tensor) -> str:
        return f"{self._shown(value)}: {value.dtype}{list(value.shape)}"

    def traces(self, label: str) -> str:
        """Return every op with its stack, innermost frame first."""
        parts: list[str] = []
        for at, call in enumerate(self.calls, 1):
            parts.append(f"{call.text}   ({at} of {len(self.calls)} in {label})\n\n")
            for site in call.stack:
                place = resolve(*site)
                parts.append(f"{place.file}:{place.line}:{place.function}\n")
            parts.append("\n\n")
        return "".join(parts)

    def ops(self) -> str:
        """Return the ops, one a line."""
        return "\n".join(call.text for call in self.calls)


Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def debug_contexts() -> tuple[
    Callable[[], Contexts], Callable[[CheckpointError], NoReturn]
]:
    """Return a ``context_fn`` that logs both runs, and what reports an error."""
    forward, again = Log(), Log()

    def context_fn() -> Contexts:
        return forward.record(), _Repeated(again)

    def report(error: CheckpointError) -> NoReturn:
        raise CheckpointError(
            REPORT.format(
                forward_traces=forward.traces("original"),
                recompute_traces=again.traces("recompute"),
                forward_ops=forward.ops(),
                recompute_ops=again.ops(),
            )
        ) from error

    return context_fn, report


class _Repeated:
    """Logs each recomputation, of which there may be several, from the beginning."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        context = self._log.record()
        self._entered.append(context)
        context.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().__exit__(*exc)
