"""The older way to start processes: ``python -m gradtape.distributed.launch``.

Unlike ``run``, it also tells the rank by an argument, ``--local-rank=…``, unless
``--use-env`` is given.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import run

__all__ = ["main"]

_USE_ENV = ("--use-env", "--use_env")


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line, and exit with its code where that is not 0."""
    given = list(sys.argv[1:] if args is None else args)
    use_env = bool(given) and given[0] in _USE_ENV
    parsed = run.parse_args(given[1:] if use_env else given)
    code = run.run(parsed, pass_local_rank=not use_env)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
