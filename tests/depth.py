"""How deep the tests look: enough for every change, or for a release.

`make test` looks at a few dozen examples of each property, at as many of PyTorch's
samples of each operator, and at a few steps of each program; `make test-thorough` at
hundreds, at all of them, and at more steps.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("GRADVIZ_THOROUGH") == "1"

EXAMPLES = 400 if THOROUGH else 40
"""Examples of each property that hypothesis looks for a counterexample in."""

PROGRAMS = 4_000 if THOROUGH else 40
"""Random programs that are played under both engines, line by line."""

SAMPLES = None if THOROUGH else 40
"""Samples of each operator, of those that PyTorch has; None for all of them."""
