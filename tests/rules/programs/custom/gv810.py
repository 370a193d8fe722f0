"""GV810: gradcheck-float32."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradcheck_in_float32",
        """
        import torch
        from torch.autograd import gradcheck
        def f(x):
            return (x ** 3).sum()
        x = torch.randn(4, requires_grad=True)  # CULPRIT
        try:
            gradcheck(f, (x,))
        except RuntimeError as error:
            print(error)
        """,
        "gradcheck-float32",
    ),
    case(
        "gradcheck_of_a_float32_layer",
        """
        import torch
        x = torch.linspace(1, 2, 5).requires_grad_()  # CULPRIT
        print(torch.autograd.gradcheck(torch.exp, x, raise_exception=False))
        """,
        "gradcheck-float32",
    ),
]
