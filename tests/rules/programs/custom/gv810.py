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
    case(
        "a_helper_that_is_not_told_of_float64",
        """
        import torch
        from torch.autograd import gradcheck
        def points(count, **options):
            return torch.linspace(-1, 1, count, **options).requires_grad_()
        def verify(function):
            x = points(4)  # CULPRIT
            return gradcheck(function, (x,), raise_exception=False)
        print(points(3, dtype=torch.float64), verify(torch.exp))
        """,
        "gradcheck-float32",
    ),
    case(
        "a_dtype_among_settings",
        """
        import torch
        from torch.autograd import gradcheck
        SETTINGS = {
            "count": 4,
            "dtype": torch.float32,  # CULPRIT
        }
        def points(count, dtype=None):
            return torch.linspace(-1, 1, count, dtype=dtype, requires_grad=True)
        x = points(SETTINGS["count"], dtype=SETTINGS["dtype"])
        print(gradcheck(torch.exp, (x,), raise_exception=False))
        """,
        "gradcheck-float32",
    ),
    case(
        "a_dtype_that_is_left_at_none",
        """
        import torch
        from torch.autograd import gradcheck
        def points(count, dtype=None):
            return torch.linspace(-1, 1, count, dtype=dtype, requires_grad=True)
        print(points(4, torch.float64))
        x = points(4)  # CULPRIT
        print(gradcheck(torch.exp, (x,), raise_exception=False))
        """,
        "gradcheck-float32",
    ),
]
