"""Settings of deterministic programs: gradtape.utils.deterministic."""

from __future__ import annotations

fill_uninitialized_memory = True
"""Kept for programs that set it; what ``empty`` returns is what memory held."""
