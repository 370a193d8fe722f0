"""The functions behind ``nn.functional``, by subject."""

from __future__ import annotations

from . import function_forms as function_forms
