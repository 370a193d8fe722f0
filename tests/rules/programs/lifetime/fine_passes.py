"""Graphs that are walked twice, kept, or refused elsewhere, and are right."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "retained_for_two_losses",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            out = net(torch.randn(2, 3))
            optimizer.zero_grad()
            out.mean().backward(retain_graph=True)
            out.pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "gan_with_detach",
        """
        import torch
        import torch.nn as nn
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.Adam(generator.parameters())
        opt_c = torch.optim.Adam(critic.parameters())
        for step in range(3):
            fake = generator(torch.randn(4, 2))
            loss_c = critic(fake.detach()).mean() - critic(torch.randn(4, 3)).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            loss_g = -critic(fake).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
        """,
    ),
    case(
        "forward_again_for_each_pass",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        x = torch.ones(3, 2)
        for k in range(3):
            loss = net(x).pow(2).mean()
            loss.backward()
        """,
    ),
    case(
        "average_in_a_copy_and_decay_by_hand",
        """
        import copy
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        model[0].weight.data.lerp_(torch.zeros(8, 4), 0.5)
        ema = copy.deepcopy(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for p_ema, p in zip(ema.parameters(), model.parameters()):
                    p_ema.lerp_(p, 0.01)
                for p in model.parameters():
                    p.add_(p, alpha=-1e-4)
                    p.mul_(0.999)
        """,
    ),
    case(
        "target_that_shares_the_trunk",
        """
        import copy
        import torch
        from torch import nn

        class Pair(nn.Module):
            def __init__(self, trunk):
                super().__init__()
                self.trunk = trunk
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                return self.head(self.trunk(x))

        trunk = nn.Linear(4, 8)
        online, target = Pair(trunk), Pair(trunk)
        optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 4)
            with torch.no_grad():
                y = target(x)
            loss = (online(x) - 0.9 * y - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), online.parameters()):
                    slow.lerp_(fast, 0.01)
        """,
    ),
    case(
        "numbers_kept",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        history, kept = [], []
        for step in range(5):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
            kept.append(loss.detach())
        print(sum(history), torch.stack(kept).mean())
        """,
    ),
    case(
        "scores_detached_one_by_one",
        """
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        model(torch.randn(4, 5)).pow(2).mean().backward()
        model.eval()
        scores = [model(torch.randn(4, 5)).detach().mean() for _ in range(4)]
        print(sum(scores))
        """,
    ),
    case(
        "averages_in_copies",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        scale = torch.zeros((), requires_grad=True)
        shadow = {k: p.detach().clone() for k, p in net.named_parameters()}
        opt = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(6, 4)) * scale.exp()).pow(2).mean().backward()
            opt.step()
            print(1 + scale.item())
            for k, p in net.named_parameters():
                shadow[k].mul_(0.9).add_(p.detach(), alpha=0.1)
                p.data.mul_(0.99).add_(p.data, alpha=0.01)
        net.load_state_dict(shadow)
        """,
    ),
    case(
        "norms_of_gradients_with_graphs",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            loss = net(torch.randn(6, 3)).pow(2).mean()
            loss.backward(create_graph=True)
            total = 0.0
            for p in net.parameters():
                total += p.grad.norm() ** 2
            joined = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            print(float(total), joined.item())
            opt.step()
            opt.zero_grad()
        """,
    ),
    case(
        "gradient_given",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        y = x ** 2
        y.backward(torch.ones_like(y))
        """,
    ),
    case(
        "allowed_to_be_unused",
        """
        import torch
        a = torch.ones(1, requires_grad=True)
        b = torch.ones(1, requires_grad=True)
        ga, gb = torch.autograd.grad(a.sum(), [a, b], allow_unused=True)
        """,
    ),
    case(
        "inference_without_training",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        with torch.inference_mode():
            scores = [net(torch.ones(1, 3)).item() for _ in range(3)]
        net(torch.ones(1, 3)).sum().backward()
        """,
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
        "hook_collects_numbers_and_penalties",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        means, sizes, penalties = [], [], []
        def watch(module, inputs, output):
            mean = output.detach().mean(dim=0)
            means.append(mean)
            sizes.append(float(output.norm()))
        net[1].register_forward_hook(watch)
        net[0].register_forward_hook(
            lambda module, inputs, output: penalties.append(output.square().mean())
        )
        for step in range(6):
            loss = net(torch.randn(5, 3)).square().mean()
            (loss + 0.1 * sum(penalties)).backward()
            penalties.clear()
        """,
    ),
    case(
        "hook_collects_the_last_outputs",
        """
        import torch
        from torch import nn
        def train():
            net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
            def keep(module, inputs, output):
                seen.append(output)
                del seen[:-4]
            net[1].register_forward_hook(keep)
            for step in range(12):
                net(torch.randn(5, 3)).square().mean().backward()
        train()
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
]
