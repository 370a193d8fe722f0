"""Schedulers, scalers and steps that act together."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "schedulers_of_all_kinds_in_their_places",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        s = torch.optim.lr_scheduler
        warm = s.LinearLR(opt, start_factor=0.1, total_iters=2)
        cosine = s.CosineAnnealingLR(opt, T_max=4)
        both = s.SequentialLR(opt, [warm, cosine], milestones=[2])
        watch = s.ReduceLROnPlateau(opt, patience=1)
        for epoch in range(5):
            total = 0.0
            for batch in range(2):
                opt.zero_grad()
                loss = net(torch.ones(2, 3)).pow(2).mean()
                loss.backward()
                opt.step()
                total += loss.item()
            both.step()
            watch.step(total)
        """,
    ),
    case(
        "warm_up_from_zero_by_batches",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.AdamW(net.parameters(), lr=0.1)
        warm = lambda step: min(1.0, step / 5)
        sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)
        for step in range(8):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            opt.step()
            sched.step()
        """,
    ),
    case(
        "schedule_wound_forward_to_resume",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.StepLR(opt, 2)
        for epoch in range(5):
            sched.step()
        for epoch in range(5, 8):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            opt.step()
            sched.step()
        """,
    ),
    case(
        "scaler_with_clipping_and_accumulation",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        for step in range(4):
            loss = net(torch.ones(2, 3)).pow(2).mean() / 2
            scaler.scale(loss).backward()
            if step % 2:
                scaler.unscale_(opt)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                scaler.step(opt)
                scaler.update()
                opt.zero_grad()
        """,
    ),
    case(
        "scaler_that_is_switched_off",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        for step in range(3):
            opt.zero_grad()
            scaler.scale(net(torch.ones(2, 3)).pow(2).mean()).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        """,
    ),
    case(
        "closure_computes_the_gradients",
        """
        import torch
        x = torch.tensor([1.0, -1.0], requires_grad=True)
        opt = torch.optim.LBFGS([x], max_iter=3)

        def closure():
            opt.zero_grad()
            loss = (x - 3).pow(4).sum()
            loss.backward()
            return loss

        for step in range(3):
            opt.step(closure)
        """,
    ),
    case(
        "gradients_changed_between_two_steps",
        """
        import torch
        w = torch.tensor([1.0, -1.0], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        (w - 3).pow(2).sum().backward()
        opt.step()
        w.grad.mul_(-0.5)
        opt.step()
        """,
    ),
    case(
        "two_optimizers_for_two_halves",
        """
        import torch
        import torch.nn as nn
        enc, head = nn.Linear(3, 2), nn.Linear(2, 1)
        a = torch.optim.SGD(enc.parameters(), lr=0.1)
        b = torch.optim.Adam(head.parameters(), lr=0.01)
        for step in range(3):
            a.zero_grad()
            b.zero_grad()
            head(enc(torch.ones(4, 3))).pow(2).mean().backward()
            a.step()
            b.step()
        """,
    ),
    case(
        "input_gradients_beside_an_idle_optimizer",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.ones(2, 3, requires_grad=True)
        maps = []
        for turn in range(3):
            net.zero_grad()
            net(x).sum().backward()
            maps.append(x.grad.clone())
            x.grad = None
        """,
    ),
]
