"""GV201: backward-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "twice_in_a_row",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward()  # CULPRIT
        print(net.weight.grad)
        loss.backward()
        """,
        "backward-twice",
        says=["`loss`"],
        related=["second pass"],
    ),
    case(
        "twice_through_a_helper",
        """
        import torch
        class Trainer:
            def __init__(self, net):
                self.net = net
            def backward(self, loss):
                loss.backward()
        trainer = Trainer(torch.nn.Linear(3, 1))
        loss = trainer.net(torch.ones(2, 3)).exp().sum()
        trainer.backward(loss)  # CULPRIT
        norm = trainer.net.weight.grad.norm()
        trainer.backward(loss)
        """,
        "backward-twice",
    ),
    case(
        "grad_then_backward",
        """
        import torch
        x = torch.randn(4, requires_grad=True)
        w = torch.randn(4, requires_grad=True)
        loss = (w * x).sin().sum()
        (gx,) = torch.autograd.grad(loss, x)  # CULPRIT
        print(gx.norm())
        loss.backward()
        """,
        "backward-twice",
    ),
    case(
        "graph_of_another_cell",
        """
        import torch
        names = {"torch": torch}
        cell = "loss = (torch.ones(2, requires_grad=True) ** 2).sum()"
        exec(compile(cell, "cell_1.py", "exec"), names)
        loss = names["loss"]
        def run():
            loss.backward()
        run()  # CULPRIT
        run()
        """,
        "backward-twice",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "two_passes_over_one_graph",
        """
        import torch
        loss = torch.ones(1, requires_grad=True).exp().sum()
        loss.backward()  # CULPRIT
        loss.backward()  # INSTEAD
        """,
        "backward-twice",
    ),
]
