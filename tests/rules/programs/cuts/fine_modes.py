"""Programs that stop gradients, or leave the graph, and mean it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "metrics_beside_the_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        opt = torch.optim.Adam(net.parameters())
        history, correct = [], 0
        for epoch in range(3):
            x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
            logits = net(x)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
            correct += (logits.argmax(1) == y).sum().item()
            confident = (torch.softmax(logits, 1).max(1).values > 0.5).float().mean()
            top = logits.topk(2).indices.tolist()
            print(f"{loss:.3f}", float(confident), correct, top[0])
        """,
    ),
    case(
        "gan_with_detached_fakes",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)
        one, zero = torch.ones(4, 1), torch.zeros(4, 1)
        bce = F.binary_cross_entropy_with_logits
        for step in range(3):
            real, fake = torch.randn(4, 3), gen(torch.randn(4, 2))
            d_loss = bce(disc(real), one) + bce(disc(fake.detach()), zero)
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = bce(disc(fake), one)
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """,
    ),
    case(
        "one_step_of_a_discriminator",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        fake = gen(torch.randn(4, 2)).detach()
        loss = disc(fake).mean() - disc(torch.randn(4, 3)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
        """,
    ),
    case(
        "q_learning_with_a_target_network",
        """
        import copy

        import torch
        import torch.nn.functional as F
        from torch import nn

        q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        target = copy.deepcopy(q)
        opt = torch.optim.Adam(q.parameters())
        for step in range(4):
            s, s2 = torch.randn(5, 4), torch.randn(5, 4)
            action = q(s).argmax(1)
            reward = torch.randn(5)
            with torch.no_grad():
                goal = reward + 0.9 * target(s2).max(1).values
            value = q(s).gather(1, action[:, None]).squeeze(1)
            loss = F.smooth_l1_loss(value, goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 2 == 0:
                target.load_state_dict(q.state_dict())
        """,
    ),
    case(
        "td_target_without_optimizer",
        """
        import torch
        from torch import nn

        critic, slow = nn.Linear(4, 1), nn.Linear(4, 1)
        s, s2, r = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 1)
        goal = r + 0.9 * slow(s2).detach()
        loss = (critic(s) - goal).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p, p_slow in zip(critic.parameters(), slow.parameters()):
                p -= 0.1 * p.grad
                p_slow.lerp_(p, 0.05)
        """,
    ),
    case(
        "policy_gradient",
        """
        import torch
        from torch import nn

        policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
        for episode in range(2):
            s, reward = torch.randn(6, 4), torch.randn(6)
            logp = torch.log_softmax(policy(s), 1)
            action = torch.multinomial(logp.exp(), 1)
            value = critic(s).squeeze(1)
            advantage = (reward - value).detach()
            chosen = logp.gather(1, action).squeeze(1)
            loss = -(chosen * advantage).mean() + (value - reward).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "distillation",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
        teacher.eval()
        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        for step in range(2):
            x = torch.randn(6, 4)
            with torch.no_grad():
                soft = torch.softmax(teacher(x) / 2, 1)
            loss = F.kl_div(
                torch.log_softmax(student(x) / 2, 1), soft, reduction="batchmean"
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "pseudo_labels_without_optimizer",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
        x = torch.randn(6, 4)
        labels = teacher(x).argmax(1)
        loss = F.cross_entropy(student(x), labels)
        loss.backward()
        """,
    ),
    case(
        "simsiam_stop_gradient",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        enc, pred = nn.Linear(4, 4), nn.Linear(4, 4)
        opt = torch.optim.SGD([*enc.parameters(), *pred.parameters()], lr=0.1)
        for step in range(2):
            x = torch.randn(5, 4)
            z1, z2 = enc(x + 0.1), enc(x - 0.1)
            p1, p2 = pred(z1), pred(z2)
            a = F.cosine_similarity(p1, z2.detach()).mean()
            b = F.cosine_similarity(p2, z1.detach()).mean()
            loss = -(a + b) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "vector_quantization",
        """
        import torch
        from torch import nn

        enc, dec, book = nn.Linear(4, 2), nn.Linear(2, 4), nn.Embedding(8, 2)
        params = [*enc.parameters(), *dec.parameters(), *book.parameters()]
        opt = torch.optim.Adam(params)
        for step in range(2):
            x = torch.randn(5, 4)
            z = enc(x)
            index = torch.cdist(z, book.weight).argmin(1)
            code = book(index)
            commit = (z - code.detach()).pow(2).mean()
            codebook = (z.detach() - code).pow(2).mean()
            straight = z + (code - z).detach()
            loss = (dec(straight) - x).pow(2).mean() + codebook + 0.25 * commit
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "moving_average_of_the_weights",
        """
        import copy

        import torch
        from torch import nn

        net = nn.Linear(4, 4)
        ema = copy.deepcopy(net)
        head = nn.Linear(4, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for step in range(3):
            x = torch.randn(5, 4)
            with torch.no_grad():
                goal = head(ema(x))
            loss = (head(net(x)) - goal).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for slow, fast in zip(ema.parameters(), net.parameters()):
                    slow.mul_(0.9).add_(fast, alpha=0.1)
        """,
    ),
    case(
        "frozen_features_for_a_head",
        """
        import torch
        from torch import nn

        backbone, head = nn.Linear(4, 8), nn.Linear(8, 1)
        opt = torch.optim.SGD(head.parameters(), lr=0.1)
        for step in range(3):
            with torch.no_grad():
                features = torch.relu(backbone(torch.randn(6, 4)))
            loss = head(features).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "features_without_optimizer",
        """
        import torch
        from torch import nn

        backbone, head = nn.Linear(4, 8), nn.Linear(8, 1)
        with torch.no_grad():
            features = backbone(torch.randn(6, 4))
        head(features).pow(2).mean().backward()
        print(backbone.weight.grad is None, head.weight.grad)
        """,
    ),
    case(
        "first_order_steps_on_biases_of_one_element",
        """
        import torch
        import torch.nn.functional as F

        def run(x, w):
            return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2], w[3])

        shapes = [(8, 1), (8,), (1, 8), (1,)]
        weights = [torch.randn(shape, requires_grad=True) for shape in shapes]
        outer = torch.optim.SGD(weights, lr=0.01)
        for task in range(3):
            x, y = torch.randn(10, 1), torch.randn(10, 1)
            fast = weights
            for _ in range(2):
                slopes = torch.autograd.grad(F.mse_loss(run(x, fast), y), fast)
                fast = [w - 0.01 * g for w, g in zip(fast, slopes)]
            loss = F.mse_loss(run(x, fast), y)
            outer.zero_grad()
            loss.backward()
            outer.step()
        """,
    ),
    case(
        "check_that_a_default_runs_without_gradients",
        """
        from contextlib import nullcontext
        import torch
        from torch import nn

        class Runner:
            def __init__(self, net, steps, fast=True):
                self.net, self.steps, self.fast = net, steps, fast

            def guard(self):
                return torch.no_grad() if self.fast else nullcontext()

            def check(self):
                with self.guard():
                    return self.net(torch.ones(3, 1)).abs().max()

            def run(self):
                optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
                for _ in range(self.steps):
                    optimizer.zero_grad()
                    (self.net(torch.rand(4, 1)) - 1).pow(2).mean().backward()
                    optimizer.step()
                    self.check()

        Runner(nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)), 3).run()
        """,
    ),
]
