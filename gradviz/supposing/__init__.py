"""What would reach which parameter, were a backward pass another one."""

from __future__ import annotations

from gradviz.supposing.what_if import Arrival as Arrival
from gradviz.supposing.what_if import WhatIf as WhatIf
from gradviz.supposing.what_if import what_if as what_if
