"""GV119: as-strided-overlap-write."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "overlapping_windows",
        """
        import torch

        x = torch.arange(4.0)
        windows = x.as_strided((3, 2), (1, 1))
        windows.mul_(2)  # CULPRIT
        print(x)
        """,
        "as-strided-overlap-write",
        says=["6 elements", "4 places"],
        related=["windows made here"],
    ),
    case(
        "unfold_windows_weighted",
        """
        import torch

        signal = torch.ones(6)
        frames = signal.unfold(0, 4, 2)
        window = torch.tensor([0.5, 1.0, 1.0, 0.5])
        frames *= window  # CULPRIT
        energy = signal.pow(2).sum()
        """,
        "as-strided-overlap-write",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "windows_that_overlap",
        """
        import torch
        frames = torch.arange(8.0).unfold(0, 4, 2)  # INSTEAD
        frames.mul_(torch.hann_window(4))  # CULPRIT
        """,
        "as-strided-overlap-write",
    ),
]
