"""GV216: new-leaf-after-no-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "new_leaf_from_no_grad",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            y = x * 2
        y.requires_grad_()  # CULPRIT
        (y ** 2).sum().backward()
        print(x.grad)
        """,
        "new-leaf-after-no-grad",
        says=["`y`", "`x`"],
    ),
]
