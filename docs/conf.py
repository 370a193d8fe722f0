"""How Sphinx builds the site; ``make docs`` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "engine")]

import gradviz

project = "gradviz"
author = "The gradviz authors"
copyright = author  # noqa: A001
release = version = gradviz.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "tools.site",
]
exclude_patterns = ["images/README.md"]
templates_path = ["_templates"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
suppress_warnings = [
    "mystnb.unknown_mime_type",  # of the graphs, which have HTML too
    "misc.highlighting_failure",  # tracebacks with findings below are no Python
]

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 180
nb_execution_raise_on_error = False  # some cells show what fails, and say so
nb_execution_show_tb = False
# A widget fetches its script from a network; the same graph as HTML has all with it.
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None)
]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False

html_theme = "furo"
html_title = "gradviz"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["images"]
