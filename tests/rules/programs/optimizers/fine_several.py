"""Several optimizers whose passes reach each other's parameters, as they may."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    *(
        case(
            name,
            f"""
            import torch
            from torch import nn
            torch.manual_seed(0)
            gen = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
            disc = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
            opt_g = torch.optim.SGD(gen.parameters(), lr=0.05)
            opt_d = torch.optim.SGD(disc.parameters(), lr=0.05{more})
            for real in torch.randn(6, 8, 2):
                fake = gen(torch.randn(8, 3))
                opt_g.zero_grad()
                opt_d.zero_grad()
                (-disc(fake)).mean().backward()
                {first}
                wish = {sign}(disc(fake.detach()) - disc(real)).mean()
                {between}
                wish.backward()
                {last}
            """,
        )
        for name, more, first, sign, between, last in (
            (
                "discriminator_cleared_before_its_own_pass",
                "",
                "opt_g.step()",
                "",
                "opt_d.zero_grad()",
                "opt_d.step()",
            ),
            (
                "discriminator_cleared_by_its_module",
                "",
                "opt_g.step()",
                "",
                "disc.zero_grad()",
                "opt_d.step()",
            ),
            (
                "adversary_that_maximizes_the_same_loss",
                ", maximize=True",
                "opt_g.step()",
                "-",
                "",
                "opt_d.step()",
            ),
            (
                "gradients_of_the_adversary_are_turned",
                "",
                "opt_g.step(); [p.grad.neg_() for p in disc.parameters()]",
                "",
                "",
                "opt_d.step()",
            ),
            (
                "both_step_after_both_losses",
                "",
                "weight = 0.5",
                "weight * ",
                "",
                "opt_g.step(); opt_d.step()",
            ),
        )
    ),
    case(
        "encoder_steps_after_its_head_and_a_loss_of_its_own",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
        head = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        opt_encoder = torch.optim.Adam(encoder.parameters(), lr=1e-3)
        opt_head = torch.optim.Adam(head.parameters(), lr=1e-2)
        for _ in range(5):
            x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
            opt_encoder.zero_grad()
            opt_head.zero_grad()
            nn.functional.cross_entropy(head(encoder(x)), y).backward()
            opt_head.step()
            one, other = encoder(x), encoder(x + 0.1 * torch.randn(16, 6))
            (one - other).pow(2).mean().backward()
            opt_encoder.step()
        """,
    ),
    case(
        "slow_body_gathers_the_passes_of_a_fast_head",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        body, head = nn.Linear(6, 8), nn.Linear(8, 3)
        slow = torch.optim.SGD(body.parameters(), lr=1e-3)
        fast = torch.optim.SGD(head.parameters(), lr=1e-2)
        for step in range(12):
            x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(head(body(x).tanh()), y)
            loss.backward()
            fast.step()
            fast.zero_grad()
            if step % 4 == 3:
                (1e-3 * body.weight.pow(2).sum()).backward()
                slow.step()
                slow.zero_grad()
        """,
    ),
    case(
        "features_of_a_loss_beside_two_optimizers",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        gen, disc = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
        features = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.05)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.05)
        for real in torch.randn(4, 8, 4):
            fake = gen(torch.randn(8, 3))
            opt_d.zero_grad()
            (disc(fake.detach()) - disc(real)).mean().backward()
            opt_d.step()
            opt_g.zero_grad()
            likeness = (features(fake) - features(real)).pow(2).mean()
            (likeness - disc(fake).mean()).backward()
            opt_g.step()
        """,
    ),
    case(
        "part_of_a_model_whose_optimizer_comes_later",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        sizes = dict(encoder=(4, 8), decoder=(8, 4), judge=(4, 1))
        net = nn.ModuleDict({name: nn.Linear(*size) for name, size in sizes.items()})
        def train(parts, loss):
            params = [p for part in parts for p in net[part].parameters()]
            opt = torch.optim.SGD(params, lr=0.05)
            for x in torch.randn(4, 8, 4):
                opt.zero_grad()
                loss(x, net["decoder"](torch.relu(net["encoder"](x)))).backward()
                opt.step()
        train(["encoder"], lambda x, again: (again - x).pow(2).mean())
        train(["judge"], lambda x, again: net["judge"](again.detach()).pow(2).mean())
        train(["decoder"], lambda x, again: (again - x).abs().mean())
        """,
    ),
]
