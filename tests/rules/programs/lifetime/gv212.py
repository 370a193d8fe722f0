"""GV212: requires-grad-int."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "integers_from_arange",
        """
        import torch
        grid = torch.arange(5)  # CULPRIT
        grid = grid.reshape(5, 1)
        grid.requires_grad_()
        """,
        "requires-grad-int",
        says=["int64"],
    ),
    case(
        "integers_as_a_parameter",
        """
        import torch
        class Bias(torch.nn.Module):
            def __init__(self, values):
                super().__init__()
                self.bias = torch.nn.Parameter(values)
        values = torch.tensor([0, 1, 2])  # CULPRIT
        Bias(values)
        """,
        "requires-grad-int",
    ),
    case(
        "long_of_floats",
        """
        import torch
        scores = torch.rand(3)
        labels = (scores * 10).long()  # CULPRIT
        labels.requires_grad = True
        """,
        "requires-grad-int",
    ),
    case(
        "integers_from_a_setting",
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class Settings:
            classes: int = 4
            temperature: float = 2  # CULPRIT
        class Scale(torch.nn.Module):
            def __init__(self, settings):
                super().__init__()
                start = torch.full((settings.classes,), settings.temperature)
                self.scale = torch.nn.Parameter(start)
        Scale(Settings())
        """,
        "requires-grad-int",
        says=["`2` in line 6 is a whole number"],
    ),
    case(
        "integers_wrapped_at_once",
        """
        import torch
        class Scale(torch.nn.Module):
            def __init__(self, classes=4):
                super().__init__()
                self.scale = torch.nn.Parameter(
                    torch.arange(classes)  # CULPRIT
                )
        Scale()
        """,
        "requires-grad-int",
        says=["int64"],
    ),
]
