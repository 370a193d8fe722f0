"""The flags of AMD's MIOpen, which nothing here uses."""

from __future__ import annotations

immediate = False
