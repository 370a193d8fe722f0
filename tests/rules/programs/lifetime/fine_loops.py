"""Loops and graphs that look odd and are fine."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "parameters_compared_as_vectors",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        before = nn.utils.parameters_to_vector(net.parameters()).detach()
        for i in range(3):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        after = nn.utils.parameters_to_vector(net.parameters()).detach()
        print((after - before).norm() > 0)
        """,
    ),
    case(
        "two_optimizers",
        """
        import torch
        import torch.nn as nn
        a, b = nn.Linear(2, 2), nn.Linear(2, 1)
        oa = torch.optim.SGD(a.parameters(), lr=0.1)
        ob = torch.optim.SGD(b.parameters(), lr=0.1)
        for i in range(3):
            h = a(torch.randn(2, 2))
            la = h.pow(2).mean()
            lb = b(h.detach()).pow(2).mean()
            oa.zero_grad()
            la.backward()
            oa.step()
            ob.zero_grad()
            lb.backward()
            ob.step()
        """,
    ),
    case(
        "policy_gradient",
        """
        import torch
        import torch.nn as nn
        pi = nn.Linear(2, 2)
        opt = torch.optim.Adam(pi.parameters())
        rewards_log = []
        for ep in range(3):
            logps, rewards = [], []
            for t in range(4):
                logits = pi(torch.randn(2))
                lp = torch.log_softmax(logits, 0)
                a = torch.multinomial(lp.exp().detach(), 1).item()
                logps.append(lp[a])
                rewards.append(1.0)
            R = torch.tensor(rewards)
            loss = -(torch.stack(logps) * R).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            rewards_log.append(loss.item())
        """,
    ),
    case(
        "policy_gradient_unfinished",
        """
        import torch
        import torch.nn as nn
        pi = nn.Linear(2, 2)
        opt = torch.optim.Adam(pi.parameters())
        logps = []
        for t in range(11):
            lp = torch.log_softmax(pi(torch.randn(2)), 0)
            logps.append(lp[0])
            if len(logps) == 4:
                loss = -torch.stack(logps).sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
                logps = []
        """,
    ),
    case(
        "products_with_a_hessian",
        """
        import torch
        w = torch.randn(4, requires_grad=True)
        v = torch.randn(4)
        for i in range(3):
            loss = (w ** 4).sum()
            (g,) = torch.autograd.grad(loss, w, create_graph=True)
            (hv,) = torch.autograd.grad((g * v).sum(), w)
        """,
    ),
    case(
        "ensemble",
        """
        import torch
        import torch.nn as nn
        nets = [nn.Linear(2, 1) for _ in range(3)]
        outs = [n(torch.ones(1, 2)) for n in nets]
        mean = sum(outs) / 3
        mean.sum().backward()
        """,
    ),
    case(
        "two_results_to_look_at",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
        y = net(torch.ones(1, 2))
        z = net(torch.zeros(1, 2))
        print(y.item(), z.item())
        """,
    ),
    case(
        "simulation",
        """
        import torch
        k = torch.tensor(0.5, requires_grad=True)
        for epoch in range(2):
            x = torch.tensor(1.0)
            for t in range(10):
                x = x - 0.1 * k * x
            (x - 0.2).pow(2).backward()
            with torch.no_grad():
                k -= 0.1 * k.grad
            k.grad = None
        """,
    ),
    case(
        "sharpness_aware_steps",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=.1)
        x = torch.randn(4, 2)
        for i in range(2):
            net(x).pow(2).mean().backward()
            with torch.no_grad():
                eps = [0.05 * p.grad for p in net.parameters()]
                for p, e in zip(net.parameters(), eps):
                    p.add_(e)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            with torch.no_grad():
                for p, e in zip(net.parameters(), eps):
                    p.sub_(e)
            opt.step()
            opt.zero_grad()
        """,
    ),
    case(
        "dropout_for_uncertainty",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        net.eval()
        net[1].train()
        with torch.no_grad():
            preds = torch.stack([net(torch.ones(3, 2)) for _ in range(5)])
        print(preds.std(0))
        """,
    ),
    case(
        "gradients_per_sample",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        x = torch.randn(4, 2)
        losses = net(x).pow(2).squeeze()
        grads = []
        for i in range(4):
            g = torch.autograd.grad(losses[i], net.weight, retain_graph=True)
            grads.append(g[0].clone())
        """,
    ),
    case(
        "rows_of_a_jacobian",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        y = x.exp() * x
        rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)]
        J = torch.stack(rows)
        """,
    ),
    case(
        "rows_by_backward",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        y = x.exp() * x
        rows = []
        for i in range(3):
            x.grad = None
            y[i].backward(retain_graph=True)
            rows.append(x.grad.clone())
        """,
    ),
    case(
        "retained_without_need",
        """
        import torch
        img = torch.rand(1, 3, 4, 4).requires_grad_(True)
        target = torch.rand(1, 3, 4, 4)
        opt = torch.optim.Adam([img], lr=.1)
        history = []
        for i in range(3):
            opt.zero_grad()
            loss = (img - target).pow(2).mean()
            loss.backward(retain_graph=True)
            opt.step()
            history.append(loss.item())
        """,
    ),
    case(
        "closure_for_lbfgs",
        """
        import torch
        w = torch.zeros(2, requires_grad=True)
        opt = torch.optim.LBFGS([w], max_iter=3)
        def closure():
            opt.zero_grad()
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            return loss
        for i in range(2):
            opt.step(closure)
        """,
    ),
    case(
        "best_loss_kept",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=.1)
        best = None
        for i in range(4):
            loss = net(torch.randn(4, 2)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if best is None or loss < best:
                best = loss
            losses = loss
        print(best)
        """,
    ),
    case(
        "retained_in_a_hook",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
        acts = {}
        def hook(m, i, o):
            o.retain_grad()
            acts[m] = o
        net[1].register_forward_hook(hook)
        for i in range(2):
            net(torch.ones(1, 2)).sum().backward()
            print(acts[net[1]].grad.norm())
            net.zero_grad()
        """,
    ),
    case(
        "target_network",
        """
        import copy
        import torch
        import torch.nn as nn
        q = nn.Linear(2, 2)
        target = copy.deepcopy(q)
        for p in target.parameters():
            p.requires_grad_(False)
        opt = torch.optim.SGD(q.parameters(), lr=.1)
        for i in range(3):
            loss = (q(torch.ones(1, 2)) - target(torch.ones(1, 2))).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            for p, t in zip(q.parameters(), target.parameters()):
                t.data.mul_(0.9).add_(p.data, alpha=0.1)
        """,
    ),
    case(
        "contrast_of_two_views",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2)
        for i in range(3):
            zs = [net(torch.randn(4, 2)) for _ in range(2)]
            loss = -(zs[0] * zs[1].detach()).sum()
            loss.backward()
            net.zero_grad()
        """,
    ),
    case(
        "one_plain_pass",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.sum().backward()
        print(x.grad)
        """,
    ),
    case(
        "two_results_of_one_line_after_training",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2)
        net(torch.ones(1, 2)).sum().backward()
        z = net(torch.ones(3, 2)).exp(); s = z.sin(); t = z.cos()
        print(s.tolist(), t.tolist())
        """,
    ),
    case(
        "norms_of_parameters_are_printed",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
            print(step, sum(p.abs().sum() for p in net.parameters()).item())
            total = 0
            for p in net.parameters():
                total = total + p.norm() ** 2
            print(float(total))
            norms = torch.stack([p.norm() for p in net.parameters()])
            print(norms.norm().item())
        """,
    ),
    case(
        "hook_that_solves_with_a_graph_beside_its_own",
        """
        import torch
        from torch import nn
        cell, head = nn.Linear(3, 3), nn.Linear(3, 1)
        for step in range(2):
            z = torch.tanh(cell(torch.randn(4, 3)))
            start = z.clone().detach().requires_grad_()
            again = torch.tanh(cell(start))
            def solve(grad, start=start, again=again):
                (moved,) = torch.autograd.grad(again, start, grad, retain_graph=True)
                return grad + moved
            z.register_hook(solve)
            head(z).pow(2).mean().backward()
        """,
    ),
    case(
        "hook_that_solves_in_steps_looked_at_in_brief",
        """
        import torch
        from torch import nn
        cell, head = nn.Linear(3, 3), nn.Linear(3, 1)
        def layer(x):
            with torch.no_grad():
                start = torch.tanh(cell(x))
            z = torch.tanh(cell(start))
            again = z.detach().clone().requires_grad_(True)
            moved = torch.tanh(cell(again))
            def solve(grad):
                return grad + torch.autograd.grad(
                    moved, again, grad, retain_graph=True
                )[0]
            z.register_hook(solve)
            return z
        optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
        for step in range(40):
            optimizer.zero_grad()
            head(layer(torch.randn(4, 3))).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "truncated_as_it_should_be",
        """
        import torch
        import torch.nn as nn
        lstm, head = nn.LSTM(3, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(
            [*lstm.parameters(), *head.parameters()], lr=0.1
        )
        state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
        for batch in range(4):
            state = tuple(each.detach() for each in state)
            out, state = lstm(torch.randn(5, 2, 3), state)
            loss = head(out).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "one_pass_over_a_sequence",
        """
        import torch
        cell = torch.nn.RNNCell(2, 3)
        for epoch in range(3):
            h, losses = torch.zeros(1, 3), []
            for x in torch.randn(6, 1, 2):
                h = cell(x, h)
                losses.append(h.pow(2).mean())
            torch.stack(losses).sum().backward()
        """,
    ),
    case(
        "linear_trunk_saves_nothing",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        doubled = w + w
        for step in range(3):
            (doubled + 1).sum().backward()
        """,
    ),
    case(
        "inner_loop_of_maml",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for task in range(3):
            fast = w
            for k in range(3):
                inner = (fast ** 2).sum()
                (g,) = torch.autograd.grad(inner, fast, create_graph=True)
                fast = fast - 0.1 * g
            optimizer.zero_grad()
            ((fast - 1) ** 2).sum().backward()
            optimizer.step()
        """,
    ),
    case(
        "losses_compared_with_the_one_before",
        """
        import torch
        from torch import nn
        def fit(net, opt):
            before, history, smooth = None, [], 0.0
            for step in range(6):
                loss = net(torch.randn(4, 3)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                if before is not None and abs(before - loss) < 1e-9:
                    break
                before = loss
                smooth = 0.9 * smooth + 0.1 * loss.detach()
                history.append(loss.detach())
            print(torch.stack(history).mean().item(), float(smooth))
        net = nn.Linear(3, 1)
        fit(net, torch.optim.SGD(net.parameters(), 0.01))
        """,
    ),
    case(
        "a_power_iteration_that_keeps_a_vector",
        """
        import torch
        import torch.nn.functional as F

        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(6, 6))
        u = F.normalize(torch.randn(6), dim=0)
        optimizer = torch.optim.SGD([weight], lr=0.01)
        for _ in range(14):
            v = F.normalize(torch.mv(weight.t(), u), dim=0)
            u = F.normalize(torch.mv(weight, v), dim=0).detach()
            sigma = torch.dot(u, torch.mv(weight, v.detach()))
            x = torch.randn(8, 6)
            optimizer.zero_grad()
            (F.linear(x, weight / sigma) - x).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
]
