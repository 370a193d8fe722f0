"""More programs whose graphs are walked twice or kept, as people write them."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "loss_of_what_the_model_returns",
        """
        import torch
        from types import SimpleNamespace
        class Model(torch.nn.Linear):
            def forward(self, x):
                return SimpleNamespace(loss=super().forward(x).pow(2).mean())
        net = Model(2, 1)
        total = 0.0
        for step in range(3):
            out = net(torch.randn(3, 2))
            out.loss.backward()
            total = total + out.loss  # CULPRIT
        print(float(total))
        """,
        "loss-accumulation-leak",
        says=["`total`", "`out.loss.item()`"],
    ),
    case(
        "two_sums_of_one_square",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        h = (w * w).exp()
        loss_a = h.sum()
        loss_b = (h * 2).sum()
        loss_a.backward()  # CULPRIT
        loss_b.backward()
        print(w.grad)
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "two_heads_in_turns",
        """
        import torch
        import torch.nn as nn
        trunk = nn.Linear(2, 4)
        ha = nn.Linear(4, 1)
        hb = nn.Linear(4, 1)
        model = nn.ModuleList([trunk, ha, hb])
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            h = torch.tanh(trunk(torch.ones(3, 2)))
            opt.zero_grad()
            la = ha(h).pow(2).mean()
            la.backward()  # CULPRIT
            lb = hb(h).pow(2).mean()
            lb.backward()
            opt.step()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "critic_through_the_generator",
        """
        import torch
        import torch.nn as nn
        G = nn.Linear(2, 2)
        D = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        fake = torch.tanh(G(torch.randn(4, 2)))
        d_loss = D(fake).mean()
        d_loss.backward()  # CULPRIT
        g_loss = -D(fake).mean()
        g_loss.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "softmax_before_the_loop",
        """
        import torch
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        p = torch.softmax(w, dim=0)  # CULPRIT
        for step in range(2):
            loss = -(torch.log(p) * torch.tensor([1.0, 0.0])).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "two_lines_before_the_loop",
        """
        import torch
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        a = w.exp()
        features = a.sin()  # CULPRIT
        for step in range(2):
            loss = (features * step).sum()
            loss.backward()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "precomputed_in_a_function",
        """
        import torch
        def precompute(w):
            z = w.exp()
            return z / z.sum()
        def train():
            w = torch.zeros(3, requires_grad=True)
            probs = precompute(w)  # CULPRIT
            for _ in range(3):
                loss = (probs ** 2).sum()
                loss.backward()
        train()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "weights_of_a_step_function",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        weights = torch.exp(w)  # CULPRIT
        def step(x):
            loss = (weights * x).pow(2).sum()
            loss.backward()
        i = 0
        while i < 3:
            step(torch.randn(3))
            i += 1
        """,
        "graph-built-outside-loop",
    ),
    case(
        "added_into_a_tensor",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for step in range(3):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss  # CULPRIT
        print("a graph hangs on it:", total.grad_fn is not None)
        """,
        "loss-accumulation-leak",
    ),
    case(
        "sum_that_nobody_needs",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        total = 0
        for step in range(3):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            total = total + loss  # CULPRIT
        print("a graph hangs on it:", total.grad_fn is not None)
        """,
        "loss-accumulation-leak",
    ),
    case(
        "added_before_the_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total_loss = 0.0
        for step in range(3):
            opt.zero_grad()
            loss = net(torch.ones(3, 2)).pow(2).mean()
            total_loss += loss  # CULPRIT
            loss.backward()
            opt.step()
        avg = total_loss / 3
        """,
        "loss-accumulation-leak",
    ),
    case(
        "norms_in_a_list",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        aux = []
        for step in range(3):
            out = net(torch.ones(3, 2))
            loss = out.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            aux.append(net.weight.pow(2).sum())  # CULPRIT
        """,
        "eval-without-no-grad",
    ),
    case(
        "cycle_in_a_function",
        """
        import gc
        import weakref
        import torch
        def step():
            w = torch.ones(3, requires_grad=True)
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)  # CULPRIT
            return weakref.ref(w)
        ref = step()
        gc.collect()
        print("still there:", ref() is not None)
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "functional_backward_with_graph",
        """
        import torch
        w = torch.tensor([2.0], requires_grad=True)
        y = (w ** 3).sum()
        torch.autograd.backward(y, create_graph=True)  # CULPRIT
        h = torch.autograd.grad(w.grad.sum(), w)
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "retained_list_of_states",
        """
        import torch
        w = torch.tensor(0.9, requires_grad=True)
        states = [torch.tensor(1.0)]
        for step in range(4):
            states.append(states[-1] * w)  # CULPRIT
            loss = (states[-1] - 1) ** 2
            loss.backward(retain_graph=True)
        """,
        "retain-graph-hides-growth",
    ),
    case(
        "list_of_states",
        """
        import torch
        w = torch.tensor(0.9, requires_grad=True)
        states = [torch.tensor(1.0)]
        for step in range(4):
            states.append(states[-1] * w)  # CULPRIT
            loss = (states[-1] - 1) ** 2
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "state_under_another_name",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)
            def forward(self, x, h):
                z = torch.cat([x, h], 1)
                new = torch.tanh(self.fc(z))
                return new
        cell = Cell()
        h = torch.zeros(1, 2)
        for step in range(2):
            h_new = cell(torch.ones(1, 2), h)
            loss = h_new.pow(2).sum()
            loss.backward()
            h = h_new  # CULPRIT
        """,
        "hidden-state-not-detached",
    ),
    case(
        "state_in_a_dict",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(2, 2)
        memory = {"h": torch.zeros(1, 2)}
        for step in range(2):
            memory["h"] = torch.sigmoid(lin(memory["h"]))  # CULPRIT
            memory["h"].sum().backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "buffer_of_codes",
        """
        import torch
        import torch.nn as nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        buffer = []
        for step in range(3):
            z = torch.tanh(enc(torch.randn(1, 2)))  # CULPRIT
            buffer.append(z)
            loss = head(torch.cat(buffer)).mean()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "evaluation_in_a_function",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        def evaluate(batches):
            net.eval()
            outs = []
            for b in batches:
                outs.append(net(b))  # CULPRIT
            return outs
        for epoch in range(2):
            net.train()
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
            outs = evaluate([torch.ones(2, 2) for _ in range(3)])
        """,
        "eval-without-no-grad",
    ),
    case(
        "evaluation_losses_summed",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        all_losses = []
        for epoch in range(3):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
            net.eval()
            batches = torch.randn(2, 1, 2)
            all_losses += [net(x).abs().mean() for x in batches]  # CULPRIT
            net.train()
        print(sum(all_losses).item())
        """,
        "eval-without-no-grad",
    ),
    case(
        "graph_of_another_cell",
        """
        import torch
        names = {"torch": torch}
        cell = "loss = (torch.ones(2, requires_grad=True) ** 2).sum()"
        exec(compile(cell, "cell_1.py", "exec"), names)
        loss = names["loss"]
        def run():
            loss.backward()
        run()  # CULPRIT
        run()
        """,
        "backward-twice",
    ),
]
