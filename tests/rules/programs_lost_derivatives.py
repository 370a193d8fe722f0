"""Programs whose derivatives are 0 or go missing in a number, and what keeps graphs."""

from __future__ import annotations

from tests.rules.harness import case

PROGRAMS = [
    case(
        "second_derivative_of_relus",
        """
        import torch
        from torch import nn
        net = nn.Sequential(
            nn.Linear(1, 8),
            nn.ReLU(),  # CULPRIT
            nn.Linear(8, 1),
        )
        x = torch.rand(6, 1, requires_grad=True)
        first = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        (second + 1).square().mean().backward()
        """,
        "second-derivative-of-kinks",
        says=["that line 10 asks for", "`nn.ReLU()` (line 5)"],
    ),
    case(
        "second_derivative_of_tanh_and_relu",
        """
        import torch
        from torch import nn
        a, b = nn.Linear(1, 8), nn.Linear(8, 1)
        x = torch.rand(6, 1, requires_grad=True)
        u = b(torch.relu(torch.tanh(a(x))))
        first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        (second + 1).square().mean().backward()
        """,
    ),
    case(
        "sine_of_python",
        """
        import math
        import torch
        angle = torch.tensor(0.3, requires_grad=True)
        speed = torch.tensor(0.0)
        for step in range(3):
            speed = speed - 0.1 * torch.ones(()) * math.sin(angle)  # CULPRIT
            angle_now = angle + 0.1 * speed
        (angle_now - 1).square().backward()
        """,
        "number-of-a-tensor",
        says=["`math.sin(angle)`", "`torch.sin`"],
    ),
    case(
        "loss_weighed_with_a_number_of_itself",
        """
        import math
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        x, y = torch.randn(6, 3), torch.arange(6) % 2
        loss = nn.functional.cross_entropy(net(x), y)
        ((1 - math.exp(-loss)) ** 2 * loss).backward()
        """,
    ),
    case(
        "cosine_of_python_given_a_name",
        """
        import math
        import torch
        w = torch.ones(2, requires_grad=True)
        total = w.sum()
        factor = math.cos(total)  # CULPRIT
        loss = (w * factor).square().sum() + total
        loss.backward()
        """,
        "number-of-a-tensor",
    ),
    case(
        "perplexity_is_printed",
        """
        import math
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        total = torch.zeros(())
        for step in range(2):
            loss = net(torch.randn(4, 3)).square().mean()
            loss.backward()
            print(math.exp(loss))
            total = total + math.exp(loss)
        print(total)
        """,
    ),
    case(
        "scores_written_into_integers",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        labels = torch.randint(0, 2, (4,))
        scores = torch.zeros_like(labels)  # CULPRIT
        for i in range(4):
            scores[i] = net(torch.randn(3)).sum()
        (scores - labels).float().square().mean().backward()
        """,
        "loss-from-argmax",
        says=["`scores` is made in line 5 with dtype int64", "torch.float32"],
    ),
    case(
        "hook_collects_outputs",
        """
        import torch
        from torch import nn
        net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
        def collect(module, inputs, output):
            seen.append(output)  # CULPRIT
        net[1].register_forward_hook(collect)
        for step in range(4):
            net(torch.randn(5, 3)).square().mean().backward()
        """,
        "hook-keeps-outputs",
        says=["keeps 4 outputs"],
    ),
    case(
        "hook_collects_and_the_program_clears",
        """
        import torch
        from torch import nn
        net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
        net[1].register_forward_hook(lambda module, inputs, output: seen.append(output))
        def keep(module, inputs, output):
            seen.append(output)
        net[0].register_forward_hook(keep)
        for step in range(4):
            loss = net(torch.randn(5, 3)).square().mean()
            (loss + sum(each.abs().mean() for each in seen)).backward()
            seen.clear()
        """,
    ),
    case(
        "hook_collects_the_steps_of_one_pass",
        """
        import torch
        from torch import nn
        cell, seen = nn.Linear(3, 3), []
        def keep(module, inputs, output):
            seen.append(output)
        cell.register_forward_hook(keep)
        for step in range(3):
            seen.clear()
            h = torch.randn(2, 3)
            for t in range(5):
                h = torch.tanh(cell(h))
            torch.stack(seen).square().mean().backward()
        """,
    ),
    case(
        "old_log_probabilities_keep_their_graph",
        """
        import torch
        from torch import nn
        policy = nn.Linear(3, 2)
        def collect():
            x = torch.randn(4, 3)
            logp = policy(x).log_softmax(1)[:, 0]
            return x, logp
        x, old = collect()  # CULPRIT
        for turn in range(2):
            ratio = (policy(x).log_softmax(1)[:, 0] - old).exp()
            ratio.mean().backward()
        """,
        "graph-built-outside-loop",
        says=["`old` was computed once"],
        related=["made here"],
    ),
    case(
        "critic_loss_after_the_actor_step",
        """
        import torch
        from torch import nn
        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        actor_optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        x, returns = torch.randn(4, 3), torch.randn(4)
        values = critic(x).squeeze(-1)
        advantage = returns - values  # CULPRIT
        actor_loss = -(actor(x).log_softmax(1)[:, 0] * advantage).mean()
        critic_loss = (returns - values).square().mean()
        actor_loss.backward()
        actor_optimizer.step()
        critic_loss.backward()
        critic_optimizer.step()
        """,
        "shared-trunk-two-backwards",
        says=["`values.detach()`"],
    ),
    case(
        "third_derivative_through_a_detached_slope",
        """
        import torch
        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.sin(x)
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * torch.cos(x.detach())  # CULPRIT
        head = torch.nn.Linear(1, 1)
        t = torch.rand(6, 1, requires_grad=True)
        (du,) = torch.autograd.grad(head(Sine.apply(t)).sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "second_derivative_of_a_linear_term",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        (slope,) = torch.autograd.grad((w * x).sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x)  # CULPRIT
        """,
        "unused-input-in-grad",
        says=["`slope.sum()`", "the gradient that line 4 took", "linear in it"],
    ),
]
