"""Paths as another machine knows them: from the top of the checkout on."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from gradviz import ir
from gradviz.text.findings import Found
from gradviz.text.places import path_in_package


def top_of(folder: Path) -> Path:
    """Return the top folder of the git checkout around a folder; else the folder."""
    folder = folder.absolute()
    tops = (each for each in (folder, *folder.parents) if (each / ".git").exists())
    return next(tops, folder)


def below(file: str, top: Path) -> str | None:
    """Return the path of a file from ``top`` on, with slashes; None where it is not.

    What an environment inside of the checkout holds is an installed package's.

    >>> below("/home/me/project/net/train.py", Path("/home/me/project"))
    'net/train.py'
    >>> below("<stdin>", Path("/home/me/project")) is None
    True
    """
    if not os.path.isabs(file) or path_in_package(file):
        return None
    path = PurePath(file)
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def name_of(file: str, top: Path) -> str:
    """Return what to call a file on any machine."""
    return below(file, top) or path_in_package(file) or PurePath(file).name or file


def shown_at(finding: ir.Finding, found: Found, top: Path) -> ir.Site | None:
    """Return the line to show a finding at: to blame, else the nearest in the checkout.

    A line of an installed package cannot be shown beside the change under review; the
    line of the project that led there can.
    """
    rows = (finding.culprit, *finding.related, finding.symptom)
    sites = [found.sites[row] for row in rows if row is not None]
    ours = (site for site in sites if below(site.file, top) is not None)
    return next(ours, sites[0] if sites else None)
