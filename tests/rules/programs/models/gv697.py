"""GV697: one-list-in-all-places."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "parts_of_a_loss_in_one_list",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        names = ["total", "shift", "scale"]
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            losses = [[]] * len(names)  # CULPRIT
            for batch in torch.randn(2, 8, 4):
                shift, scale = net(batch).pow(2).mean(0)
                for k, each in enumerate([shift + 1e-3 * scale, shift, scale]):
                    losses[k].append(each)
            loss = sum(losses[0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "one-list-in-all-places",
        says=["`losses[k].append(each)` (line 12)"],
    ),
    case(
        "states_of_layers_in_one_table",
        """
        import torch
        from torch import nn
        class Stack(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.cells = nn.ModuleList(nn.GRUCell(3, 3) for _ in range(depth))
                self.seen = depth * [dict()]  # CULPRIT
            def forward(self, x):
                for k, cell in enumerate(self.cells):
                    x = cell(x, self.seen[k].get("state"))
                    self.seen[k]["state"] = x.detach()
                return x
        net = Stack(2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(5, 3)).pow(2).mean().backward()
            optimizer.step()
        """,
        "one-list-in-all-places",
    ),
    case(
        "lists_of_their_own_and_places_replaced",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        last, sizes = [[]] * 2, [0.0] * 2
        kept = [[] for _ in range(2)]
        for _ in range(3):
            errors = net(torch.randn(8, 4)).pow(2).mean(0)
            for k, error in enumerate(errors):
                kept[k].append(error.item())
                last[k] = [error.item()]
                sizes[k] += error.item()
            optimizer.zero_grad()
            errors.sum().backward()
            optimizer.step()
        """,
    ),
    case(
        "one_list_for_the_keys_of_a_table",
        """
        import torch
        from torch import nn
        class Log:
            def __init__(self, names):
                self.rows: dict[str, list] = dict.fromkeys(names, [])  # CULPRIT
            def add(self, **numbers):
                for name, rows in self.rows.items():
                    rows.append(numbers[name])
        net, log = nn.Linear(4, 1), Log(["loss", "size"])
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            loss = net(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.add(loss=loss.item(), size=net.weight.abs().sum().item())
        print(sum(log.rows["loss"]) / 3)
        """,
        "one-list-in-all-places",
        says=["`rows.append(numbers[name])` (line 8)"],
    ),
    case(
        "a_named_list_in_all_queues",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        empty = []
        queues = [empty for _ in range(3)]  # CULPRIT
        for step in range(3):
            out = net(torch.randn(8, 4))
            for kind, each in zip(out.argmax(1).tolist(), out.detach()):
                queue = queues[kind]
                queue.append(each)
            optimizer.zero_grad()
            out.square().mean().backward()
            optimizer.step()
        """,
        "one-list-in-all-places",
    ),
    case(
        "one_list_for_all_on_purpose_and_new_ones_in_its_place",
        """
        import torch
        from itertools import repeat
        from torch import nn
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        everything = []
        sinks = {name: everything for name in ("wide", "narrow")}
        kept = dict.fromkeys(range(2), [])
        for k in kept:
            kept[k] = []
        names = list(repeat("error", 2))
        for step in range(3):
            errors = net(torch.randn(8, 4)).square().mean(0)
            for k, error in enumerate(errors.tolist()):
                kept[k].append(error)
                sinks["wide" if k else "narrow"].append((names[k], error))
            optimizer.zero_grad()
            errors.sum().backward()
            optimizer.step()
        print(len(everything))
        """,
    ),
]
