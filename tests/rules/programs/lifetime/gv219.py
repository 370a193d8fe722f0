"""GV219: create-graph-backward-cycle."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "penalty_through_grad",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward(create_graph=True)  # CULPRIT
        penalty = sum(p.grad.pow(2).sum() for p in net.parameters())
        penalty.backward()
        optimizer.step()
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "cycle_in_a_function",
        """
        import gc
        import weakref
        import torch
        def step():
            w = torch.ones(3, requires_grad=True)
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)  # CULPRIT
            return weakref.ref(w)
        ref = step()
        gc.collect()
        print("still there:", ref() is not None)
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "functional_backward_with_graph",
        """
        import torch
        w = torch.tensor([2.0], requires_grad=True)
        y = (w ** 3).sum()
        torch.autograd.backward(y, create_graph=True)  # CULPRIT
        h = torch.autograd.grad(w.grad.sum(), w)
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "cycle_of_inputs_that_no_optimizer_clears",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            code = torch.zeros(3, requires_grad=True)
            inner = net(code).pow(2).sum()
            inner.backward(create_graph=True, inputs=[code])  # CULPRIT
            net(code - code.grad).pow(2).sum().backward(inputs=list(net.parameters()))
            optimizer.step()
        """,
        "create-graph-backward-cycle",
        says=["gradients of `code`"],
    ),
]
