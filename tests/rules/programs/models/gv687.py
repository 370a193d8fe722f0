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
    case(
        "map_kept_by_an_object_that_is_walked",
        """
        import torch
        from torch import nn

        class Scaled:
            def __init__(self, parts):
                self.parts = map(lambda x: x * 0.5, parts)  # CULPRIT

            def __iter__(self):
                for part in self.parts:
                    yield part, part.sum(1, keepdim=True)

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        data = Scaled(torch.randn(12, 3).split(4))
        for epoch in range(5):
            for x, y in data:
                opt.zero_grad()
                (net(x) - y).square().mean().backward()
                opt.step()
        """,
        "iterator-used-up",
    ),
    case(
        "iterator_of_a_trainer_walked_in_its_method",
        """
        import torch
        from torch import nn

        class Feed:
            def __init__(self, parts):
                self.left = iter(parts)  # CULPRIT

            def __iter__(self):
                return self

            def __next__(self):
                return next(self.left) * 0.5

        class Trainer:
            def __init__(self, parts):
                self.net = nn.Linear(3, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                self.data = Feed(parts)

            def epoch(self):
                for x in self.data:
                    self.opt.zero_grad()
                    self.net(x).square().mean().backward()
                    self.opt.step()

            def fit(self, epochs):
                for _ in range(epochs):
                    self.epoch()

        Trainer(torch.randn(12, 3).split(4)).fit(4)
        """,
        "iterator-used-up",
    ),
    case(
        "pairs_given_to_a_function_with_the_epochs",
        """
        import torch
        from torch import nn

        def fit(net, opt, batches, epochs=4):
            for epoch in range(epochs):
                for x, y in batches:
                    opt.zero_grad()
                    (net(x) - y).square().mean().backward()
                    opt.step()

        def main():
            net = nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            x, y = torch.randn(12, 3), torch.randn(12, 1)
            fit(net, opt, zip(x.split(4), y.split(4)))  # CULPRIT

        main()
        """,
        "iterator-used-up",
    ),
    case(
        "objects_that_begin_anew_or_go_on_where_they_were",
        """
        import torch
        from torch import nn

        class Anew:
            def __init__(self, parts):
                self.parts = parts

            def __iter__(self):
                halves = map(lambda x: x * 0.5, self.parts)
                for half in halves:
                    yield half

        class Again:
            def __init__(self, parts):
                self.parts = parts

            def __iter__(self):
                self.left = iter(self.parts)
                return self

            def __next__(self):
                return next(self.left)

        class Two:
            def __init__(self, parts):
                self.left = iter(parts)

            def __iter__(self):
                self.taken = 0
                return self

            def __next__(self):
                if self.taken == 2:
                    raise StopIteration
                self.taken += 1
                return next(self.left)

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(12, 3)
        anew, again, two = Anew(x.split(4)), Again(x.split(4)), Two(x.split(1))
        for epoch in range(3):
            for source in (anew, again, two):
                for part in source:
                    opt.zero_grad()
                    net(part).square().mean().backward()
                    opt.step()
            for part in two:
                opt.zero_grad()
                net(part).square().mean().backward()
                opt.step()
            for part in anew:
                opt.zero_grad()
                net(part).square().mean().backward()
                opt.step()
            for part in again:
                opt.zero_grad()
                net(part).square().mean().backward()
                opt.step()
        """,
    ),
]
