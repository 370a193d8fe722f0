"""GV642: call-refused."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "output_and_state_taken_for_one_tensor",
        """
        import torch
        from torch import nn
        rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
        hidden = rnn(torch.randn(5, 2, 3))  # CULPRIT
        head(hidden).sum().backward()
        """,
        "call-refused",
        related=["takes the tuple"],
    ),
    case(
        "row_out_of_range",
        """
        import torch
        x = torch.ones(3, 2, requires_grad=True)
        for row in range(4):
            y = x[row] * 2  # CULPRIT
        """,
        "call-refused",
    ),
    case(
        "batch_as_number",
        """
        import torch
        losses = torch.ones(3, requires_grad=True) * 2
        def report(values):
            return values.item()  # CULPRIT
        print(report(losses))
        """,
        "call-refused",
    ),
    case(
        "key_missing_in_a_hook",
        """
        import torch
        norms = {}
        w = torch.ones(3, requires_grad=True)
        h = w * 2
        def watch(grad):
            norms["h"].append(grad.norm())  # CULPRIT
        h.register_hook(watch)
        h.sum().backward()
        """,
        "call-refused",
        says=["line of the hook that line 7 registers"],
        related=["registered here", "the pass begins here", "`norms` from here"],
    ),
    case(
        "division_inside_a_backward",
        """
        import torch
        class Share(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.count = int((x > 100).sum())
                return x.clone()
            @staticmethod
            def backward(ctx, grad):
                return grad * (1 / ctx.count)  # CULPRIT
        w = torch.ones(3, requires_grad=True)
        y = Share.apply(w)
        y.sum().backward()
        """,
        "call-refused",
        says=["line of Share.backward, run by line 12", "divisor is 0"],
        related=["applied here"],
    ),
    case(
        "division_in_a_scheduler",
        """
        import torch
        from torch import nn
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        warm = 0
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda epoch: epoch / warm  # CULPRIT
        )
        """,
        "call-refused",
        related=["`warm` from here"],
    ),
    case(
        "plain_python_behind_the_training",
        """
        import torch
        from torch import nn
        model = nn.Linear(3, 2)
        counts, names = {}, ["cat", "dog"]
        for _ in range(3):
            out = model(torch.ones(4, 3))
            out.pow(2).mean().backward()
            counts[names[0]] += 1  # CULPRIT
        """,
        "call-refused",
        says=["KeyError"],
    ),
    case(
        "state_of_an_optimizer_with_more_parameters",
        """
        import torch
        from torch import nn
        def build(model, frozen):
            body = [] if frozen else list(model[0].parameters())
            groups = [{"params": body}, {"params": list(model[1].parameters())}]
            return torch.optim.SGD(groups, lr=0.1)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        first = build(model, frozen=False)
        model(torch.ones(2, 3)).sum().backward()
        first.step()
        state = first.state_dict()
        second = build(model, frozen=True)  # CULPRIT
        second.load_state_dict(state)
        """,
        "call-refused",
        says=["Group 0 has 0 parameters in the SGD and 2 in the saved state."],
        related=["loads the state", "made the saved one"],
    ),
]
