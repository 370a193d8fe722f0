"""Optimizers, updates and schedules that look out of step and are right."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import MOMENTUM

PROGRAMS: list[Case] = [
    case("momentum_of_its_own", MOMENTUM.replace("KEPT", "p.grad.clone()")),
    case(
        "search_over_two_batches",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
        x = torch.randn(6, 3)
        def closure():
            optimizer.zero_grad()
            total = 0.0
            for part in x.split(3):
                loss = (net(part).tanh() - 0.5).square().mean()
                loss.backward()
                total += loss.item()
            return total
        optimizer.step(closure)
        """,
    ),
    *(
        case(
            name,
            f"""
            import torch
            from torch import nn
            from torch.optim import Adam
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 3))
            net = net.to(torch.bfloat16)
            norm = [*net[1].parameters()]
            rest = [*net[0].parameters(), *net[2].parameters()]
            {made}
            for step in range(40):
                x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
                loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
                opt.zero_grad()
                loss.backward()
                {then}
            """,
        )
        for name, made, then in (
            (
                "norms_in_bfloat16_with_a_rate_for_them",
                "opt = Adam([{'params': rest}, {'params': norm, 'lr': 2e-2}])",
                "opt.step()",
            ),
            (
                "norms_in_bfloat16_whose_rate_is_0",
                "opt = Adam([{'params': rest}, {'params': norm, 'lr': 0.0}])",
                "opt.step()",
            ),
            (
                "norms_in_bfloat16_of_few_steps",
                "opt = Adam([*rest, *norm])",
                "if step < 3: opt.step()",
            ),
            (
                "norms_in_bfloat16_whose_steps_are_clipped_to_nothing",
                "opt = torch.optim.SGD([*rest, *norm], lr=0.1)",
                "nn.utils.clip_grad_norm_(norm, 1e-9); opt.step()",
            ),
        )
    ),
    case(
        "slow_optimizer_waits",
        """
        import torch
        body, head = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)
        slow = torch.optim.SGD(body.parameters(), 1e-3)
        fast = torch.optim.Adam(head.parameters(), 1e-2)
        for step in range(6):
            loss = head(body(torch.randn(5, 4)).relu()).pow(2).mean()
            for each in (slow, fast):
                each.zero_grad()
            loss.backward()
            fast.step()
            if step >= 4:
                slow.step()
        """,
    ),
    case(
        "generator_alone",
        """
        import torch
        gen, disc = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        opt_g = torch.optim.Adam(gen.parameters(), 1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), 1e-3)
        for step in range(3):
            opt_g.zero_grad()
            (-disc(gen(torch.randn(4, 2))).mean()).backward()
            opt_g.step()
        """,
    ),
    case(
        "closure_called_often",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
        x, y = torch.randn(20, 3), torch.randn(20, 1)
        def closure():
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            return loss
        for _ in range(3):
            opt.step(closure)
        """,
    ),
    case(
        "adversarial_pair",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        D = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        og, od = (torch.optim.Adam(m.parameters(), 1e-3) for m in (G, D))
        f = nn.BCEWithLogitsLoss()
        one, zero = torch.ones(8, 1), torch.zeros(8, 1)
        for _ in range(3):
            fake = G(torch.randn(8, 2))
            od.zero_grad()
            (f(D(torch.randn(8, 2)), one) + f(D(fake.detach()), zero)).backward()
            od.step()
            og.zero_grad()
            f(D(fake), one).backward()
            og.step()
        """,
    ),
    case(
        "optimizers_in_turns",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        enc = nn.Linear(4, 6)
        heads = nn.ModuleDict({"a": nn.Linear(6, 1), "b": nn.Linear(6, 1)})
        parts = [nn.ModuleList([enc, heads[k]]) for k in "ab"]
        opts = [torch.optim.SGD(each.parameters(), 0.01) for each in parts]
        for step in range(4):
            k = "ab"[step % 2]
            opt = opts[step % 2]
            x = torch.randn(8, 4)
            z = torch.relu(enc(x))
            other = heads["b" if k == "a" else "a"](z).mean()
            loss = heads[k](z).pow(2).mean() + 0.1 * other
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "first_order_meta_learning_by_hand",
        """
        import torch
        w = torch.randn(3, 1, requires_grad=True)
        meta = torch.optim.SGD([w], lr=0.1)
        for task in range(3):
            x, y = torch.randn(4, 3), torch.randn(4, 1)
            fast = w.detach().clone().requires_grad_()
            for inner in range(2):
                (g,) = torch.autograd.grad((x @ fast - y).pow(2).mean(), fast)
                fast = (fast - 0.1 * g).detach().requires_grad_()
            (g,) = torch.autograd.grad((x @ fast - y).pow(2).mean(), fast)
            w.grad = g.clone()
            meta.step()
        """,
    ),
    case(
        "pairs_masked_by_a_table",
        """
        import torch
        import torch.nn as nn
        net, y = nn.Linear(3, 1), torch.randn(6)
        group = torch.tensor([0, 0, 1, 1, 2, 2])
        same = group[:, None] == group[None]
        gap = net(torch.randn(6, 3)) - y
        torch.where(same, gap.abs(), gap ** 2).mean().backward()
        """,
    ),
    case(
        "log_softmax_over_the_classes_of_a_picture",
        """
        import torch
        import torch.nn as nn
        net = nn.Conv2d(1, 3, 1)
        logp = torch.log_softmax(net(torch.randn(2, 1, 4, 4)), dim=1)
        nn.functional.nll_loss(logp, torch.zeros(2, 4, 4).long()).backward()
        """,
    ),
    case(
        "attention_over_time_then_classes",
        """
        import torch
        import torch.nn as nn
        score, out = nn.Linear(4, 1), nn.Linear(4, 3)
        h = torch.randn(7, 5, 4)
        weights = torch.softmax(score(h), dim=0)
        logp = torch.log_softmax(out((weights * h).sum(0)), dim=-1)
        nn.functional.nll_loss(logp, torch.zeros(5).long()).backward()
        """,
    ),
    case(
        "scheduler_wound_forward",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt.step()
        net(torch.ones(1, 2)).sum().item()
        """,
    ),
    case(
        "gradients_set_by_hand",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for step in range(3):
            w.grad = w.detach() * 2
            opt.step()
        """,
    ),
    case(
        "norms_logged_after_the_step",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            net(torch.randn(4, 3)).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
        """,
    ),
    case(
        "update_by_a_gradient_and_two_steps",
        """
        import torch
        import torch.nn as nn
        encoder, energy = nn.Linear(3, 2), nn.Linear(2, 1)
        z = encoder(torch.randn(4, 3))
        (g,) = torch.autograd.grad(energy(z).sum(), z, retain_graph=True)
        better = z - 0.1 * g
        energy(better).pow(2).mean().backward()
        """,
    ),
    case(
        "two_optimizers_of_one_layer_in_turns",
        """
        import torch
        from torch import nn
        shared, actor, critic = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
        opt_a = torch.optim.SGD([*shared.parameters(), *actor.parameters()], lr=0.1)
        opt_c = torch.optim.SGD([*shared.parameters(), *critic.parameters()], lr=0.1)
        for _ in range(2):
            for opt, head in ((opt_a, actor), (opt_c, critic)):
                loss = head(torch.tanh(shared(torch.randn(5, 3)))).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    ),
]
