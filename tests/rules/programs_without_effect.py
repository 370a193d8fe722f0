"""Programs that run through while a term, a mask, a factor or a row has no effect."""

from __future__ import annotations

from tests.rules.harness import case

STEPS = """
        for step in range(3):
            optimizer.zero_grad()
            loss = step_loss()
            loss.backward()
            optimizer.step()
"""

FACTORS = [
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
        "gate_that_is_switched_off",
        """
        import torch
        from torch import nn
        main, side = nn.Linear(3, 1), nn.Linear(3, 1)
        both = [*main.parameters(), *side.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        weight = torch.zeros(1)
        x = torch.randn(6, 3)
        def step_loss():
            return (main(x) + weight * side(x) - 1).square().mean()
        """
        + STEPS,
    ),
    case(
        "branch_that_is_not_taken_yet",
        """
        import torch
        from torch import nn
        main, side = nn.Linear(3, 1), nn.Linear(3, 1)
        both = [*main.parameters(), *side.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x = torch.rand(6, 3)
        def step_loss():
            far = x.sum(1, keepdim=True) > 9
            return torch.where(far, side(x), main(x)).square().mean()
        """
        + STEPS,
    ),
]

ROWS = [
    case(
        "messages_to_one_receiver",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        sender = torch.tensor([0, 1, 2, 3, 0, 1])
        receiver = torch.tensor([1, 2, 1, 1, 3, 3])
        inbox = torch.zeros_like(nodes)
        inbox[receiver] += talk(nodes[sender])  # CULPRIT
        inbox.square().sum().backward()
        """,
        "rows-written-twice",
        says=["6 entries"],
    ),
    case(
        "messages_added_out_of_place",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        receiver = torch.tensor([1, 0, 1, 1])
        inbox = torch.zeros_like(nodes)
        inbox[receiver] = inbox[receiver] + talk(nodes)  # CULPRIT
        inbox.square().sum().backward()
        """,
        "rows-written-twice",
    ),
    case(
        "rows_named_once_or_scaled",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        order, twice = torch.randperm(4), torch.tensor([1, 1, 2])
        inbox = torch.zeros_like(nodes)
        inbox[order] += talk(nodes)
        inbox[twice] = inbox[twice] * 0.5
        inbox[[0, 2]] += 1
        inbox = inbox.index_add(0, twice, talk(nodes[:3]))
        inbox.square().sum().backward()
        """,
    ),
]

MASKS = [
    case(
        "padding_filled_with_almost_zero",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = scores.masked_fill(mask == 0, 1e-9)  # CULPRIT
        weights = torch.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["as much weight as other places"],
    ),
    case(
        "padding_filled_with_the_wrong_sign",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = torch.where(mask, scores, 1e9)  # CULPRIT
        weights = nn.functional.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["all weight"],
    ),
    case(
        "padding_filled_far_below_or_masked_again",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        low = torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1)
        zero = torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1) * mask
        weights = low + zero / zero.sum(1, keepdim=True)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
    ),
]

TERMS = [
    case(
        "penalty_on_data",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(6, 3)
        def penalty():
            return sum(p.data.abs().sum() for p in net.parameters())  # CULPRIT
        def step_loss():
            return net(x).square().mean() + 0.1 * penalty()
        """
        + STEPS,
        "term-without-graph",
        related=["added to the loss"],
    ),
    case(
        "load_of_chosen_experts",
        """
        import torch
        from torch import nn
        gate, expert = nn.Linear(3, 4), nn.Linear(3, 1)
        both = [*gate.parameters(), *expert.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x = torch.randn(9, 3)
        def step_loss():
            best, chosen = torch.softmax(gate(x), dim=-1).max(-1)
            error = (best.unsqueeze(1) * expert(x) - 1).square().mean()
            share = nn.functional.one_hot(chosen, 4).float().mean(0)  # CULPRIT
            return error + 0.01 * 4 * share.square().sum()
        """
        + STEPS,
        "term-without-graph",
    ),
    case(
        "constants_that_are_meant",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(6, 3), torch.arange(6) % 2
        def step_loss():
            scores = net(x)
            error = nn.functional.cross_entropy(scores, y)
            with torch.no_grad():
                best = -torch.log_softmax(net(x), 1).amax(1).mean()
            hits = (scores.argmax(1) == y).float().mean()
            print(float(hits), float(error - best))
            surrogate = error + (error.sqrt() - error).detach()
            return (surrogate - best + 3) * (2 - hits)
        """
        + STEPS,
    ),
]

CANCELLED = """
import torch
from torch import nn
from torch.distributions import Normal
mean, spread = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD([*mean.parameters(), spread], lr=0.1)
states = torch.randn(8, 3)
for step in range(3):
    policy = Normal(mean(states), spread.exp())
    action = policy.rsample()
    chance = policy.log_prob(action).sum(1)
    optimizer.zero_grad()
    (chance * states.sum(1)).mean().backward()
    optimizer.step()
"""

SAMPLES = [
    case(
        "first_of_a_batch_against_all_targets",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        x, y = torch.randn(6, 3), torch.randn(6, 2)
        prediction = net(x)[0]  # CULPRIT
        (prediction - y).square().mean().backward()
        """,
        "first-sample-only",
        says=["first of 6 samples"],
    ),
    case(
        "first_of_a_batch_as_an_origin",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        x, y = torch.randn(6, 3), torch.randn(6, 2)
        path = net(x)
        away = path.detach() - path[0]
        (away.square().mean() + (path[0] - y[0]).square().mean()).backward()
        """,
    ),
]
