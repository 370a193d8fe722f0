"""GV508: gradient-ends-in-zeros."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "step_of_an_integrator_rounded_to_zero",
        """
        import torch
        from torch import nn
        field, read = nn.Linear(2, 2), nn.Linear(2, 1)
        both = [*field.parameters(), *read.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)

        def solve(state, start, end, substeps=4):
            width = (end - start) // substeps  # CULPRIT
            for _ in range(substeps):
                state = state + width * torch.tanh(field(state))
            return state

        times = torch.arange(3)
        def step_loss():
            state = torch.ones(5, 2)
            for start, end in zip(times, times[1:]):
                state = solve(state, start, end)
            return (read(state) - 1).square().mean()
        """
        + STEPS,
        "gradient-ends-in-zeros",
        says=["rounds to 0", "`field.bias` and `field.weight`"],
        related=["multiplied here"],
    ),
    case(
        "pixels_scaled_as_integers",
        """
        import torch
        from torch import nn
        images = torch.randint(0, 255, (8, 6))
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaled = (images / 255).long()  # CULPRIT
        def step_loss():
            scores = net(scaled.float())
            return nn.functional.cross_entropy(scores, torch.arange(8) % 3)
        """
        + STEPS,
        "gradient-ends-in-zeros",
    ),
    case(
        "softmax_of_one_score",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        def step_loss():
            chance = torch.softmax(net(x), dim=1)  # CULPRIT
            return (chance - y).square().mean()
        """
        + STEPS,
        "gradient-ends-in-zeros",
        says=["one element"],
    ),
    case(
        "layer_norm_of_one_feature",
        """
        import torch
        from torch import nn
        first, norm = nn.Linear(4, 1), nn.LayerNorm(1)
        both = [*first.parameters(), *norm.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        def step_loss():
            hidden = first(x)
            return (norm(hidden) - y).square().mean()  # CULPRIT
        """
        + STEPS,
        "gradient-ends-in-zeros",
    ),
    case(
        "weight_of_the_only_loss_is_zero",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        weight = 0.0  # CULPRIT
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        opt = torch.optim.Adam(net.parameters(), lr=0.01)

        def objective(scores, labels):
            loss = F.cross_entropy(scores, labels)
            return weight * loss

        for step in range(3):
            x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
            loss = objective(net(x), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-ends-in-zeros",
        says=["multiplies with 0"],
    ),
    case(
        "mask_that_was_never_filled",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randn(8, 2)
        mask = torch.zeros(8, 2)  # CULPRIT
        for step in range(3):
            error = (net(x) - y) ** 2
            loss = (error * mask).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-ends-in-zeros",
        says=["`mask`, which is 0"],
    ),
    case(
        "rows_of_which_there_are_none",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.rand(8, 4), torch.rand(8)
        for step in range(3):
            error = (net(x).squeeze(1) - y).abs()
            far = error[y > 1.0]  # CULPRIT
            loss = far.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-ends-in-zeros",
        says=["selects nothing"],
    ),
    case(
        "mask_that_is_always_chosen",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            z = net(torch.randn(5, 3))
            alike = z @ z.t()
            others = alike.clone()
            others.diagonal().fill_(-float("inf"))  # CULPRIT
            far, _ = (1 - others).max(dim=1)
            opt.zero_grad()
            torch.relu(1 - alike.diagonal() - far + 0.5).mean().backward()
            opt.step()
        """,
        "gradient-ends-in-zeros",
        says=["nothing but infinite values"],
    ),
    case(
        "softmax_over_a_batch_of_one",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        inner, weigh = nn.Linear(3, 3), nn.Softmax(dim=0)  # CULPRIT
        opt = torch.optim.SGD(inner.parameters(), lr=0.1)
        for _ in range(3):
            query, context = inner(torch.randn(1, 3)), torch.randn(4, 3)
            weights = weigh(query @ context.t())
            opt.zero_grad()
            (weights @ context + query).square().mean().backward()
            opt.step()
        """,
        "gradient-ends-in-zeros",
        says=["one element in every call"],
    ),
    case(
        "scores_overwritten_by_a_helper_that_metrics_need",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(9, 3), (torch.randn(9, 4) > 0).float()

        def binary(scores, least=0.5):
            scores = scores.clone()
            scores[scores >= least] = 1.0
            scores[scores < least] = 0.0
            return scores

        def overlap(one, other):
            return (one * other).sum() / (one + other).sum()

        for step in range(3):
            optimizer.zero_grad()
            made = binary(torch.sigmoid(net(x)))  # CULPRIT
            loss = 1 - overlap(made, y)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(overlap(binary(torch.sigmoid(net(x))), y))
        """,
        "gradient-ends-in-zeros",
        related=["ends here"],
    ),
    case(
        "diagonal_filled_with_the_wrong_infinity",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net = nn.Linear(6, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def far(one, other):
            alike = F.normalize(one, dim=1) @ F.normalize(other, dim=1).t()
            others = alike.clone()
            others.diagonal().fill_(-float("inf"))  # CULPRIT
            nearest, _ = torch.max(1 - others, dim=1)
            return F.relu(1 - alike.diagonal() - nearest + 0.5).mean()

        for step in range(3):
            x = torch.randn(8, 6)
            one, other = net(x), net(x + 0.1 * torch.randn(8, 6))
            loss = far(one, other) + 0.1 * (one - other).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "gradient-ends-in-zeros",
        says=["nothing but infinite values"],
    ),
    case(
        "diagonal_filled_with_the_wrong_infinity_for_one_of_two_nets",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net, head = nn.Linear(6, 4), nn.Linear(6, 1)
        both = [*net.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)

        def far(one, other):
            alike = F.normalize(one, dim=1) @ F.normalize(other, dim=1).t()
            others = alike.clone()
            others.diagonal().fill_(-float("inf"))  # CULPRIT
            nearest, _ = torch.max(1 - others, dim=1)
            return F.relu(1 - alike.diagonal() - nearest + 0.5).mean()

        for step in range(3):
            x = torch.randn(8, 6)
            one, other = net(x), net(x + 0.1 * torch.randn(8, 6))
            loss = far(one, other) + head(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "gradient-ends-in-zeros",
    ),
    case(
        "a_sum_over_a_dimension_of_one",
        """
        import torch

        torch.manual_seed(0)
        fields = torch.nn.ModuleList(torch.nn.Embedding(5, 4) for _ in range(3))
        linear = torch.nn.Linear(3, 1)
        both = [*fields.parameters(), *linear.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)

        def crossed(found):
            of_sum = found.sum(dim=1).pow(2)
            of_each = found.pow(2).sum(dim=1)
            return 0.5 * (of_sum - of_each).sum(dim=-1)

        for step in range(4):
            ids = torch.randint(0, 5, (8, 3))
            found = [field(ids[:, i]) for i, field in enumerate(fields)]
            joined = torch.cat(found, dim=1).unsqueeze(1)  # CULPRIT
            score = linear(ids.float()).squeeze(-1) + crossed(joined)
            loss = (score - ids[:, 0] * ids[:, 1]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "gradient-ends-in-zeros",
        says=["has one element", "cancel each other out"],
        related=["runs here", "second part comes from here"],
    ),
]
