"""GV226: copy-of-a-result."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "copy_of_a_module_that_keeps_its_features",
        """
        import copy
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                self.features = hidden  # CULPRIT
                return self.last(hidden)

        net = Net()
        net(torch.randn(5, 3)).mean().backward()
        best = copy.deepcopy(net)
        """,
        "copy-of-a-result",
        related=["copied here"],
    ),
    case(
        "copy_of_a_module_that_gives_its_features_to_a_log",
        """
        import copy
        import torch
        from torch import nn

        class Log:
            def __init__(self):
                self.rows = []

            def note(self, name, *values):
                for value in values:
                    self.rows.append((name, value))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)
                self.log = Log()

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                self.log.note("size", x, hidden)  # CULPRIT
                return self.last(hidden)

        net = Net()
        net(torch.randn(5, 3)).mean().backward()
        best = copy.deepcopy(net)
        """,
        "copy-of-a-result",
        says=["without its graph"],
    ),
    case(
        "copy_of_a_module_that_gives_its_features_without_a_graph",
        """
        import copy
        import torch
        from torch import nn

        class Log:
            def __init__(self):
                self.rows = []

            def note(self, name, *values):
                for value in values:
                    self.rows.append((name, value.detach()))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)
                self.log = Log()

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                self.log.note("size", x, hidden)
                return self.last(hidden)

        net = Net()
        net(torch.randn(5, 3)).mean().backward()
        best = copy.deepcopy(net)
        """,
    ),
    case(
        "copy_of_a_module_that_goes_on_with_what_it_keeps",
        """
        import copy
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

            def forward(self, x):
                self.features = torch.relu(self.first(x))  # CULPRIT
                return self.last(self.features)

        net = Net()
        net(torch.randn(5, 3)).mean().backward()
        best = copy.deepcopy(net)
        """,
        "copy-of-a-result",
        says=["a variable of the function", "which line 12 goes on with"],
    ),
]
