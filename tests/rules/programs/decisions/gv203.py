"""GV203: a tensor that a method or a table kept; a sum that each pass starts at."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_table_of_an_object_kept_the_state",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Memory:
            def __init__(self):
                self.slots = {}
            def write(self, key, value):
                self.slots[key] = value  # CULPRIT
            def read(self, key, like):
                return self.slots.get(key, torch.zeros_like(like))
        cell = nn.GRUCell(4, 8)
        out = nn.Linear(8, 1)
        memory = Memory()
        opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=0.01)
        for t in range(5):
            x = torch.randn(16, 4)
            h = cell(x, memory.read("h", torch.zeros(16, 8)))
            memory.write("h", h)
            loss = out(h).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hidden-state-not-detached",
        says=["`value`"],
    ),
    case(
        "a_method_kept_the_state",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Agent(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(4, 8)
                self.out = nn.Linear(8, 1)
                self.reset(16)
            def reset(self, n):
                self.state = torch.zeros(n, 8)
            def forward(self, x):
                new = self.cell(x, self.state)
                value = self.out(new)
                self.remember(new)
                return value
            def remember(self, new):
                self.state = new  # CULPRIT
        agent = Agent()
        opt = torch.optim.Adam(agent.parameters(), lr=0.01)
        for t in range(5):
            loss = agent(torch.randn(16, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hidden-state-not-detached",
        says=["`new`"],
    ),
    case(
        "each_pass_starts_at_the_sum",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        total = torch.zeros(())
        for step in range(5):
            x = torch.randn(8, 4)
            total = total + F.cross_entropy(model(x), torch.randint(0, 3, (8,)))
            opt.zero_grad()
            total.backward()  # CULPRIT
            opt.step()
        """,
        "hidden-state-not-detached",
        says=["adds its loss", "add it to `total` as a number"],
    ),
    case(
        "each_pass_starts_at_the_sum_of_losses_with_a_name",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        total = torch.zeros(())
        for step in range(3):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            total = total + loss
            opt.zero_grad()
            total.backward()  # CULPRIT
            opt.step()
        """,
        "hidden-state-not-detached",
        says=["Call `loss.backward()` here, and add `loss.item()` to `total`."],
    ),
    case(
        "last_words_in_a_table_that_is_updated",
        """
        import torch
        from torch import nn

        class Table:
            def __init__(self):
                self.rows = {}

            def look_up(self, keys):
                return torch.stack([self.rows.get(k, torch.zeros(3)) for k in keys])

            def fill(self, keys, new):
                self.rows.update({k: row for k, row in zip(keys, new)})  # CULPRIT

        cell, table = nn.Linear(3, 3), Table()

        def speak(keys):
            said = torch.tanh(cell(table.look_up(keys)))
            table.fill(keys, said.unbind(0))
            return said

        for turn in range(3):
            loss = speak([turn, turn + 1]).square().sum()
            cell.zero_grad()
            loss.backward()
        """,
        "hidden-state-not-detached",
        says=["Keep `row.detach()`"],
        engines=("torch",),
    ),
]
