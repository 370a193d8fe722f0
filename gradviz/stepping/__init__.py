"""Backward as a program under a debugger: see :func:`step`."""

from __future__ import annotations

from gradviz.stepping.breakpoints import Breakpoint as Breakpoint
from gradviz.stepping.stepper import Stepper as Stepper
from gradviz.stepping.stepper import step as step
from gradviz.stepping.stop import Stop as Stop
