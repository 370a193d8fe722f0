"""Writes docs/findings.md from the docstrings of the rules.

``python -m tools.findings_page`` writes it; ``--check`` writes nothing and fails when
the file on disk is not what it would write.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gradviz.diagnosis.manual import markdown

TARGET = Path(__file__).parent.parent / "docs" / "findings.md"


def main() -> int:
    """Write or check the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = markdown()
    if not parser.parse_args().check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(
        "docs/findings.md is old; run `python -m tools.findings_page`.", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
