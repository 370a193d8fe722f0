"""Looks at values: extremes, NaN and Inf of an array, and the text of a small one.

A small array is copied, which takes a microsecond, and looked at when someone asks.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import fields
from typing import Any, Protocol
from weakref import ref

import numpy as np

from gradtape._debug import META, SparseArray, backend_of
from gradviz import ir
from gradviz._capture.statistics.scan import summary_of
from gradviz._capture.statistics.summary import summarize
from gradviz._capture.statistics.thumbnails import Samples, sample
from gradviz.program.values import Summary

_FIRST_BAD = [each.name for each in fields(ir.Statistics)].index("first_bad")
_SHOWN = 8  # elements of a small array that are written out
_COPIED = 16_384  # bytes of an array that is copied
_MOST = 16_000_000  # bytes of all copies; beyond, the oldest are looked at
_NUMBERS = "fiubc"  # kinds of dtypes
_RECENT = 8  # passes that a picture shows in full


class Kept(Summary):
    """A summary of an array that was copied, worked out when it is read."""

    __slots__ = ("array", "passes", "words")

    array: Any
    passes: int  # that were over
    words: str

    @staticmethod
    def of(array: Any) -> Kept:
        """Return the summary of an array that nobody writes to."""
        kept = Kept.__new__(Kept)
        kept.array = array
        return kept

    @property
    def nbytes(self) -> int:
        """How much the copy takes."""
        return self.array.nbytes + _OVERHEAD

    def __getattr__(self, name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(name)
        array = self.array
        if array is not None:  # else another thread has just worked it out
            self._work_out(name, array)
        return object.__getattribute__(self, name)

    def _work_out(self, name: str, array: Any) -> None:
        if name == "full":
            with np.errstate(all="ignore"):
                self.full = summarize(array)
        elif name == "sample":
            self.sample = sample(array, self.first_bad)
        elif name == "words":
            self.words = _text(array)
        else:
            self._fill(array)

    def _fill(self, array: Any) -> None:
        with np.errstate(all="ignore"):
            found = summary_of(array)
        assert found is not None  # it holds numbers
        for field in _FIELDS:
            setattr(self, field, getattr(found, field))

    def settle(self, in_full: bool) -> None:
        """Work out all, and let go of the array."""
        _ = self.count, self.words
        for name in () if in_full else ("full", "sample"):
            if name not in _filled(self):
                setattr(self, name, None)
        _ = self.full
        if self.sample is not None:
            self.sample.draw()
        self.array = None


_FIELDS = (
    *("count", "nans", "infs", "zeros", "first_bad"),
    *("minimum", "maximum", "norm"),
)


_LATER = frozenset((*_FIELDS, "full", "sample", "words"))


def _filled(kept: Kept) -> list[str]:
    found: list[str] = []
    for name in ("full", "sample"):
        with suppress(AttributeError):
            object.__getattribute__(kept, name)
            found.append(name)
    return found


class Copies(Protocol):
    """Copies that are let go of together."""

    nbytes: int
    passes: int  # that were over

    def settle(self, in_full: bool) -> None:
        """Work out all, and let go of the arrays."""


class Scan:
    """Summarizes arrays; of results only where somebody asked for values."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.detailed = False  # a picture is made too, with full statistics
        self.samples = Samples()
        self._waiting: deque[Kept | Copies] = deque()
        self._bytes = 0
        self._passes = 0
        # Gradients of the pass that runs, by id: one leaves a node and enters the next.
        self._known: dict[int, tuple[ref[Any], Any]] = {}

    def look(self, array: Any) -> tuple[Summary | None, Any]:
        """Return the summary of an array, and what gives its text where it is small."""
        found = self.summary(array)
        return found, found if type(found) is Kept else self.text(array)

    def summary(self, array: Any) -> Summary | None:
        """Return the summary of a result; None where it holds no numbers."""
        return self._of(array) if self.on else None

    def copied(self, array: Any, copies: Copies) -> Any:
        """Return the copy of a gradient, or the summary of one that is large."""
        if array is None:
            return None
        known = self._known.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        found = self.moment(array, copies)
        if type(array) is np.ndarray:
            self._known[id(array)] = ref(array), found
        return found

    def moment(self, array: Any, copies: Copies) -> Any:
        """Return the same of an array that is written in place, as it is now."""
        if type(array) is np.ndarray:
            size = array.nbytes
            if size <= _COPIED and array.dtype.kind in _NUMBERS:
                copies.nbytes += size + _OVERHEAD
                return array.copy()
        return self._of(array)

    def end_pass(self, copies: Copies) -> None:
        """Note that a pass is over, and what it keeps."""
        self._known.clear()
        copies.passes = self._passes
        self._passes += 1
        self.samples.passes = self._passes
        self._wait(copies)

    def _of(self, array: Any) -> Summary | None:
        if array is None or type(array) is META.array_type:
            return None
        if type(array) is np.ndarray:
            size = array.nbytes
            if size <= _COPIED and array.dtype.kind in _NUMBERS:
                kept = Kept.of(array.copy())
                kept.passes = self._passes
                self._wait(kept)
                return kept
        return self._now(array)

    def _wait(self, copies: Kept | Copies) -> None:
        """Let copies wait for who asks; of too many the oldest are looked at now."""
        self._waiting.append(copies)
        self._bytes += copies.nbytes
        while self._bytes > _MOST:
            oldest = self._waiting.popleft()
            self._bytes -= oldest.nbytes
            oldest.settle(self.detailed and oldest.passes >= self._passes - _RECENT)

    def _now(self, array: Any) -> Summary | None:
        full = elements = None
        if self.detailed:
            full = summarize(array)
            elements = self.samples.of(array, full[_FIRST_BAD])
        if type(array) is SparseArray:
            array = array.values
        if type(array) is not np.ndarray:
            array = backend_of(array).to_host(array)
        with np.errstate(all="ignore"):
            found = summary_of(array)
        if found is not None:
            found.full, found.sample = full, elements
        return found

    def text(self, array: Any) -> str:
        """Return up to eight elements as text; "" where there are more."""
        if not self.on or type(array) is not np.ndarray:
            return ""
        return _text(array)


_OVERHEAD = 300  # bytes of a copy beside its elements


def _text(array: Any) -> str:
    if array.size > _SHOWN:
        return ""
    if array.dtype.kind in "fc":
        return str(np.array2string(array, separator=", ", precision=6)).replace(
            "\n", ""
        )
    return str(array.tolist())
