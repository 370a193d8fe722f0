"""Lines that PyTorch's anomaly mode kept: the stack of every node, as text."""

from __future__ import annotations

import re

from gradviz.program.log import UserFiles, is_host_file

_ENTRY = re.compile(r'\s*File "(.+)", line (\d+), in (.+)')


def users_lines(stack: list[str]) -> list[tuple[str, int, str]]:
    """Return file, line and function of the user's frames, innermost first."""
    user, found = UserFiles(), list[tuple[str, int, str]]()
    for entry in reversed(stack):
        match = _ENTRY.match(entry)
        if match is not None and user[match[1]] and not is_host_file(match[1]):
            found.append((match[1], int(match[2]), match[3].strip()))
    return found
