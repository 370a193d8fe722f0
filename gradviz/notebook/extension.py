"""What ``%load_ext gradviz`` calls, importable where there is no IPython."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Add the magics and let recorders and snapshots show themselves."""
    from gradviz.notebook.magic import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take everything back that loading added; the pictures stay in the notebook."""
    from gradviz.notebook.magic import unload

    unload(shell)
