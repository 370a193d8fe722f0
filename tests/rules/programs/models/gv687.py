"""GV687: iterator-used-up."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "pairs_zipped_before_the_epochs",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(12, 3), torch.randn(12, 1)
        batches = zip(x.split(4), y.split(4))  # CULPRIT
        for epoch in range(5):
            for step, (xb, yb) in enumerate(batches):
                opt.zero_grad()
                (net(xb) - yb).square().mean().backward()
                opt.step()
        """,
        "iterator-used-up",
        says=["after the first turn", "list("],
    ),
    case(
        "generator_given_to_each_epoch",
        """
        import torch
        from torch import nn

        def scaled(parts):
            for part in parts:
                yield part * 0.5

        def run(net, opt, data):
            for x in data:
                opt.zero_grad()
                net(x).square().mean().backward()
                opt.step()

        def main():
            net = nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            data = scaled(torch.randn(12, 3).split(4))  # CULPRIT
            for epoch in range(5):
                run(net, opt, data)

        main()
        """,
        "iterator-used-up",
    ),
    case(
        "iterators_made_anew_endless_or_left_early",
        """
        import itertools
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(12, 3)

        def endless():
            while True:
                yield x[:4]

        def batches():
            yield from x.split(4)

        stream, shared = endless(), iter(x.split(2))
        turned = itertools.cycle(x.split(6))
        for epoch in range(3):
            sources = (batches(), itertools.islice(stream, 2), x.split(6))
            for source in sources:
                for part in source:
                    opt.zero_grad()
                    net(part).square().mean().backward()
                    opt.step()
            for part in shared:
                net(part).square().mean().backward()
                break
            for part, _ in zip(turned, range(2)):
                net(part).square().mean().backward()
        """,
    ),
]
