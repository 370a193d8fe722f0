"""Short programs that cut a graph in rarer ways, and some that do not."""

from __future__ import annotations

from tests.rules.harness import Case, case

RARE: list[Case] = [
    case(
        "code_drawn_beside_a_term_of_its_own",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Autoencoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
                self.mean, self.log_var = nn.Linear(8, 2), nn.Linear(8, 2)
                parts = nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 6)
                self.decoder = nn.Sequential(*parts)

            def forward(self, x):
                h = self.encoder(x)
                mean, log_var = self.mean(h), self.log_var(h)
                z = torch.normal(mean, (0.5 * log_var).exp())  # CULPRIT
                return self.decoder(z), mean, log_var

        model = Autoencoder()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(3):
            x = torch.randn(10, 6)
            again, mean, log_var = model(x)
            prior = (mean.square() + log_var.exp() - 1 - log_var).sum(1).mean()
            loss = F.mse_loss(again, x) + 0.05 * prior
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "round-zero-gradient",
        says=["feeds `decoder.0.bias`", "from the other terms of the loss alone"],
    ),
    case(
        "variable_of_the_loss",
        """
        import torch
        from torch import nn
        from torch.autograd import Variable
        net = nn.Linear(2, 1)
        loss = net(torch.ones(3, 2)).pow(2).mean()
        loss = Variable(loss.data, requires_grad=True)  # CULPRIT
        loss.backward()
        """,
        "requires-grad-on-loss-hack",
    ),
    case(
        "detached_and_made_a_leaf_again",
        """
        import torch
        from torch import nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        feat = enc(torch.ones(3, 2)).cpu().detach().requires_grad_()  # CULPRIT
        loss = head(feat).pow(2).mean()
        loss.backward()
        """,
        "detach-in-forward",
    ),
    case(
        "detach_in_place",
        """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 2)
            def forward(self, x):
                h = self.a(x)
                h.detach_()  # CULPRIT
                return self.b(h)
        net = Block()
        loss = net(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        """,
        "detach-in-forward",
    ),
    case(
        "numbers_as_a_list",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([1.0], requires_grad=True)
        vals = (w * 2).tolist()  # CULPRIT
        loss = (torch.tensor(vals) * b).sum()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "numbers_in_a_legacy_constructor",
        """
        import torch
        from torch import nn
        net, head = nn.Linear(2, 1), nn.Linear(1, 1)
        outs = []
        for x in torch.randn(3, 2):
            outs.append(net(x).item())  # CULPRIT
        feat = torch.Tensor(outs).unsqueeze(1)
        loss = head(feat).pow(2).mean()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "numpy_array_of_a_tensor",
        """
        import numpy as np
        import torch
        from torch import nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        h = enc(torch.ones(3, 2))
        arr = np.array(h.detach())  # CULPRIT
        loss = head(torch.as_tensor(arr / 2)).pow(2).mean()
        loss.backward()
        """,
        "numpy-roundtrip",
    ),
    case(
        "mask_that_selects_inputs",
        """
        import torch
        from torch import nn
        scorer, head = nn.Linear(2, 1), nn.Linear(2, 1)
        x = torch.randn(6, 2)
        mask = scorer(x).squeeze(1) > 0  # CULPRIT
        x2 = torch.where(mask[:, None], x, -x)
        loss = head(x2).pow(2).mean()
        loss.backward()
        """,
        "threshold-cuts-gradient",
    ),
    case(
        "reward_of_a_sampled_action",
        """
        import torch
        from torch import nn
        policy = nn.Linear(2, 3)
        probs = torch.softmax(policy(torch.ones(4, 2)), 1)
        action = torch.multinomial(probs, 1)  # CULPRIT
        reward = action.float().mean()
        (-reward).backward()
        """,
        "loss-from-argmax",
    ),
    case(
        "inference_mode_block",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        with torch.inference_mode():  # CULPRIT
            out = net(torch.ones(3, 2))
        loss = out.pow(2).mean()
        loss.backward()
        """,
        "forward-under-no-grad",
    ),
    case(
        "mode_off_at_the_top",
        """
        import torch
        torch.set_grad_enabled(False)  # CULPRIT
        w = torch.tensor([1.0], requires_grad=True)
        loss = (w * 2).sum()
        loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "guard_entered_by_hand",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        class Evaluator:
            def start(self):
                self.guard = torch.no_grad()
                self.guard.__enter__()  # CULPRIT
            def run(self, x):
                return net(x).item()
        e = Evaluator()
        e.start()
        e.run(torch.ones(1, 2))
        loss = net(torch.ones(3, 2)).mean()
        loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "floor_of_an_output",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        out = torch.floor(net(torch.ones(3, 2)) * 10) / 10  # CULPRIT
        loss = (out - 1).pow(2).mean()
        loss.backward()
        """,
        "round-zero-gradient",
    ),
    case(
        "penalty_on_the_grad_attribute",
        """
        import torch
        w = torch.tensor([3.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        out = (w * x * x).sum()
        out.backward(retain_graph=True)  # CULPRIT
        pen = (x.grad.norm() - 1) ** 2
        loss = out + pen
        loss.backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "small_loss_and_the_row_zero",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        nn.init.zeros_(net.weight), nn.init.zeros_(net.bias)
        rows = torch.full((4, 3), 0.5)
        def report(loss):
            torch.set_grad_enabled(False)  # CULPRIT
            print(loss.item())
        for epoch in range(2):
            for number in range(4):
                row = rows[number]
                loss = (net(row[:2]) - row[2]).pow(2).mean()
                loss.backward()
            report(loss)
        """,
        "grad-mode-left-off",
    ),
    case(
        "learned_pixel",
        """
        import torch
        w = torch.tensor([0.1, 2.3], requires_grad=True)
        img = torch.randn(4, 4, requires_grad=True)
        ij = w.int()  # CULPRIT
        loss = img[ij[0], ij[1]]
        loss.backward()
        """,
        "learnable-index",
    ),
    case(
        "derivative_by_backward_beside_its_function",
        """
        import torch
        from torch import nn
        u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(u.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.rand(10, 1, requires_grad=True)
            y = u(x)
            y.sum().backward(retain_graph=True)  # CULPRIT
            loss = (x.grad + y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "attack_on_a_copy_without_gradients",
        """
        import torch
        from torch import nn
        def fgsm(net, images):
            images = images.clone().requires_grad_()
            with torch.no_grad():  # CULPRIT
                inputs = (images - 0.5) / 0.5
            net(inputs).sum().backward()
            return images + 0.1 * images.grad.sign()
        fgsm(nn.Linear(4, 3), torch.rand(5, 4))
        """,
        "forward-under-no-grad",
        says=["`images`"],
    ),
]

RARE_FINE: list[Case] = [
    case(
        "differentiable_choices",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        net, head = nn.Linear(2, 3), nn.Linear(3, 1)
        x = torch.ones(4, 2)
        y = F.gumbel_softmax(net(x), tau=1.0, hard=True)
        v, i = torch.sort(net(x), 1)
        m = net(x).max(1).values + net(x).median(1).values
        loss = head(y).pow(2).mean() + v[:, 0].mean() + m.mean()
        loss = loss + net(x).clamp(0, 1).sum()
        loss.backward()
        print(net.weight.grad)
        """,
    ),
    case(
        "logging_of_all_kinds",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        tot = 0.0
        for x in torch.randn(3, 4, 2):
            loss = net(x).pow(2).mean()
            tot += float(loss)
            print(f"{loss:.2f} {loss.item()} {net.weight.detach().numpy()}")
            print(net.weight.data.norm())
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            net.zero_grad()
        """,
    ),
    case(
        "gradient_norm_as_a_number",
        """
        import torch
        w = torch.tensor([3.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        out = (w * x * x).sum()
        out.backward()
        g = x.grad.norm().item()
        w.grad = None
        loss = (w * 2).sum() + 0 * g
        loss.backward()
        """,
    ),
]
