"""Containers, under the name of PyTorch's file."""

from __future__ import annotations

from ._container import ModuleDict as ModuleDict
from ._container import ModuleList as ModuleList
from ._container import Sequential as Sequential
from ._older import Container as Container
from ._parameter_containers import ParameterDict as ParameterDict
from ._parameter_containers import ParameterList as ParameterList
