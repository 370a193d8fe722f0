"""What an export raises: one base class, and one for ops without a translation."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """A warning of the exporter."""


class OnnxExporterError(RuntimeError):
    """The model cannot be exported; the sentence says why and what to do."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op that the model runs has no translation."""
