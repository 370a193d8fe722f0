"""Compile this checkout's gradtape in place, or take that back.

    python -m compiling [--remove]

To be run in the folder ``engine``. ``GRADTAPE_VERBOSE=1`` shows what compilers say.
"""

from __future__ import annotations

import argparse
import sys

from .build import ENGINE, MODULE, REQUIREMENTS, build


def main() -> int:
    """Do as the command line says; return 1 where nothing could be compiled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--remove", action="store_true")
    options = parser.parse_args()
    package = ENGINE / "gradtape"
    for file in package.glob(f"{MODULE}.*"):
        file.unlink()
    if options.remove:
        print("gradtape runs as plain Python.")
        return 0
    made = build(package)
    if made is None:
        needed = " and ".join(REQUIREMENTS)
        print(f"Not compiled: it takes a C compiler, {needed}.", file=sys.stderr)
        return 1
    print(f"gradtape is compiled: {made.relative_to(ENGINE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
