"""``python -m gradviz`` is the command ``gradviz``."""

import sys

from gradviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
