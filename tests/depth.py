"""How deep the tests look: enough for every change, or at all there is.

`make test` looks at five samples of each operator and at a few dozen examples of each
property; `make test-thorough` at all that PyTorch has and at hundreds.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("GRADVIZ_THOROUGH") == "1"

EXAMPLES = 400 if THOROUGH else 40
"""Examples of each property that hypothesis looks for a counterexample in."""

SAMPLES = slice(None) if THOROUGH else slice(0, 15, 3)
"""PyTorch's own samples looked at for each variant of an operator."""
