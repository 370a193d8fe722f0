"""Notices NaN and Inf in steps whose values are not looked at: one norm a result.

Where one is born the log looks at once, while operands and saved tensors are still
there, and goes on in full: the record says of a birth in step 90,000 what it would have
said of one in the first step. A place that had one before is no news; that of a
``masked_fill(mask, -inf)`` has one in every step.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from math import frexp
from typing import Any, Protocol

from gradviz._capture.adapters.pytorch.graph.tensor_table import GLANCE
from gradviz._capture.adapters.pytorch.tensor_records import (
    SUMMARY,
    TorchValues,
    version_of,
)
from gradviz._capture.detail import Detail
from gradviz._capture.names.tensors import grad_fn_of
from gradviz.program.events import Call
from gradviz.program.noted import Glance, Noted
from gradviz.program.records import Program

LARGE = 1e15
"""Norm of a leaf's gradient from which on an overflow is near, in float32."""

_BITS = 10  # of an exponent: a factor of a thousand

_MOST_PENDING = 256  # norms on a device, before somebody waits for them


class SampledLog(Protocol):
    """A log that looks at values in some steps only."""

    program: Program
    values: TorchValues
    detail: Detail
    samples: bool  # it does so at all
    brief: bool  # it does not now

    def notice(self) -> None:
        """Go on in full: something unusual came up."""
        ...

    def read_graph(self, node: Any) -> None:
        """Read what is not known yet of the graph behind a node."""
        ...


class NonfiniteCheck:
    """Knows at which places of the program NaN and Inf were met."""

    def __init__(self, torch: Any, log: SampledLog) -> None:
        self._torch, self._log = torch, log
        self.near_overflow = False  # gradients are so large that products may be Inf
        self._sizes: tuple[int, int, int] | None = None  # of leaves' gradients
        self._met = set[tuple[Any, ...]]()  # places, with whether it was NaN
        self._pending: list[Any] = []  # norms that a device still computes
        self.norm = norm_of(torch, self._pending)
        self.is_observed = _isolation_check(torch)
        self.of_results = self._result_check()

    def _result_check(self) -> Callable[..., None]:
        """Return what looks at the result of a call that was just noted."""
        log, norm_of, pending = self._log, self.norm, self._pending
        plain, finite, observed = self._torch.Tensor, math.isfinite, self.is_observed
        scanned = log.program.scanned  # values are wanted at all

        def check(noted: Noted, result: Any) -> None:
            if not (log.samples and scanned) or observed():
                return
            wrote = noted[0] == "call" and noted[5]
            for each in (result,) if type(result) is plain else result:
                if log.brief:
                    if each._is_view() and not wrote:
                        continue  # what it is a view of was looked at
                    norm = norm_of(each)
                    if finite(norm):
                        continue
                    bad = math.isnan(norm)
                else:
                    summary = _summary_in(log, each)
                    if summary is None or not summary.bad:
                        continue
                    bad = summary.nans > 0
                self._result(noted, bad, each)
            if len(pending) > _MOST_PENDING:
                self.settle()

        return check

    def _result(self, noted: Noted, is_nan: bool, result: Any) -> None:
        """Look closer at what gave a result that is not finite, if its place is new."""
        place = noted[3][:2] if noted[0] == "run" else noted[2][1:3]
        if not self.is_news((*place, is_nan)) or not self._log.brief:
            return
        self._log.notice()
        self._log.read_graph(grad_fn_of(result))
        self._tell(noted[1])

    def number_of(self, tensor: Any) -> float | None:
        """Return the one number that a loss holds, where asking disturbs nobody."""
        if (
            type(tensor) is not self._torch.Tensor
            or not tensor.is_cpu
            or tensor.numel() != 1
            or not tensor.is_floating_point()
            or tensor.layout is not self._torch.strided
            or self.is_observed()
        ):
            return None
        number: float = tensor.item()
        return number

    def of_leaves(
        self, gradients: list[Any], notices: bool = True
    ) -> list[float | None]:
        """Look at what leaves have after a pass; return norms, None where not known.

        Without ``notices``, NaN and Inf are what was to be expected.
        """
        plain, strided, norm = self._torch.Tensor, self._torch.strided, self.norm
        if self.is_observed():
            return [None] * len(gradients)
        norms: list[float | None] = []
        for each in gradients:
            if type(each) is plain and each.layout is strided:
                found = norm(each)
                norms.append(found if each.is_cpu else None)  # nobody waits for others
            else:
                norms.append(None)
        known = [each for each in norms if each is not None]
        if known:
            bad = [each for each in known if not math.isfinite(each)]
            if not bad:
                self.sizes_of_leaves(known)
            elif notices and self.is_news(("leaves", math.isnan(bad[0]))):
                self._log.notice()
        return norms

    def sizes_of_leaves(self, norms: list[float]) -> None:
        """Have the next steps looked at in full where gradients grow, shrink or end.

        That is: one is a thousandth of the least so far, or a thousand times the
        largest, or twice as many as ever are 0.
        """
        largest, least, before = max(norms), min(norms), self._sizes
        self.near_overflow = largest > LARGE
        zeros = 0
        if not least:
            some = [each for each in norms if each]
            zeros, least = len(norms) - len(some), min(some, default=1.0)
        found = zeros.bit_length(), frexp(least)[1], frexp(largest or 1.0)[1]
        if before is None:
            self._sizes = found
        elif (
            found[0] > before[0]
            or found[1] < before[1] - _BITS
            or found[2] > before[2] + _BITS
        ):
            most, low, high = before
            self._sizes = max(found[0], most), min(found[1], low), max(found[2], high)
            self._log.detail.noticed()

    def of_untold(self, place: tuple[Any, ...], result: Any) -> None:
        """Look at the result of a call that is not in the log."""
        if not result.is_floating_point() and not result.is_complex():
            return
        if result._is_view() or self.is_observed():
            return
        norm = self.norm(result)
        if not math.isfinite(norm) and self.is_news((*place, math.isnan(norm))):
            self._log.notice()  # the next such call is told

    def is_news(self, place: tuple[Any, ...]) -> bool:
        """Tell whether NaN or Inf was not met before at a place."""
        if place in self._met:
            return False
        self._met.add(place)
        return True

    def _tell(self, index: int) -> None:
        """Tell what the calls from this event on took and gave, as far as it is there.

        A tensor that the program has let go of may be saved by a node.
        """
        log = self._log
        living = dict(log.values.log.tensors.alive())
        for event in log.program.events:
            if event.index < index or not isinstance(event, Call):
                continue
            saved = {
                (row.value.tensor, row.value.version): row.value
                for node in map(log.program.nodes.get, event.nodes)
                for row in (node.saved if node is not None else ())
            }
            writes = [write.value for write in event.writes]
            for value in (*event.inputs, *event.outputs, *writes):
                tensor = living.get(value.tensor)
                other = saved.get((value.tensor, value.version))
                if value.summary is not None:
                    continue
                if tensor is not None and version_of(tensor) == value.version:
                    value.summary, value.shown = log.values.holds(tensor)
                elif other is not None:
                    value.summary, value.shown = other.summary, other.shown

    def settle(self) -> None:
        """Wait for what a device has computed; something bad in it is noticed late."""
        if self._pending:
            norms = self._torch.stack(self._pending)
            self._pending.clear()
            if not bool(self._torch.isfinite(norms).all()):
                self._log.notice()


def _summary_in(log: SampledLog, tensor: Any) -> Any:
    row = log.values.rows.get(id(tensor))
    glance: Glance = row[GLANCE] if row is not None and len(row) > GLANCE else ()
    return glance[SUMMARY] if len(glance) > SUMMARY else None


def norm_of(torch: Any, pending: list[Any]) -> Callable[[Any], float]:
    """Return what computes the norm of a tensor: NaN or Inf if an element is.

    0.0 stands for what cannot be looked at here. The norm of a tensor on a device goes
    to ``pending``: nobody waits for it.
    """
    isfinite, isnan, plain = torch.isfinite, torch.isnan, torch.Tensor
    compute, float32 = torch._C._linalg.linalg_vector_norm, torch.float32
    narrow = frozenset({torch.float16, torch.bfloat16})
    wide = frozenset({float32, torch.float64, torch.complex64, torch.complex128})
    parameter, infinite = torch.nn.Parameter, math.isinf

    def wider(data: Any) -> float:
        number = compute(data.abs(), 2, None, False, dtype=torch.float64).item()
        return min(number, sys.float_info.max)

    def norm(tensor: Any) -> float:
        kind = type(tensor)
        if kind is not plain and kind is not parameter:
            return 0.0
        data = tensor.detach() if tensor.requires_grad else tensor
        dtype = data.dtype
        try:
            if dtype in wide:
                found = compute(data)
            elif dtype in narrow:
                found = compute(data, 2, None, False, dtype=float32)
            else:
                return 0.0
            number: float | None = found.item() if found.is_cpu else None
        except (RuntimeError, NotImplementedError):  # sparse, or of a transform
            return 0.0
        if number is not None:
            if number == number and not infinite(number):
                return number
            if not bool((~isfinite(data)).any()):
                return wider(data)  # the squares were too large
            return math.nan if bool(isnan(data).any()) else math.inf
        if not found.is_meta:
            pending.append(found.float())
        return 0.0

    return norm


def _isolation_check(torch: Any) -> Callable[[], bool]:
    """Return what tells whether somebody would notice that we compute something."""
    c = torch._C
    modes, transforms = c._len_torch_dispatch_stack, c._are_functorch_transforms_active
    tracing = c._get_tracing_state

    def noticed() -> bool:
        return bool(modes() or transforms() or tracing() is not None)

    return noticed
