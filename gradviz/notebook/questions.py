"""`%gradviz why x …?`: a question may end in its mark, which IPython takes for help."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.inputtransformer2 import EscapedCommand

_ASKED = re.compile(r"\s*%gradviz\s+why\s.*\?\s*$")


class Question(EscapedCommand):
    """Finds the line before IPython's own reading of `?` does, and makes it a call."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: Any) -> Question | None:
        """Return the first command of a cell, if it is a question."""
        asking = (each for each in tokens_by_line if each and _is_asked(each[0].line))
        return super().find(list(asking)[:1])


def _is_asked(line: str) -> bool:
    return _ASKED.match(line) is not None
