"""Programs that keep graphs alive: sums, lists, cycles."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "loss_for_the_progress_bar",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0.0
        for step in range(4):
            x = torch.randn(3, 2)
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss  # CULPRIT
        print("mean loss", total / 4)
        """,
        "loss-accumulation-leak",
        says=["`total`"],
    ),
    case(
        "epoch_loss_in_a_function",
        """
        import torch
        import torch.nn as nn
        def train(net, optimizer, batches):
            running = 0
            for x, y in batches:
                loss = nn.functional.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                running = running + loss * len(x)  # CULPRIT
            return running.item() / len(batches)
        net = nn.Linear(2, 1)
        batches = [(torch.randn(3, 2), torch.randn(3, 1)) for _ in range(3)]
        for epoch in range(2):
            print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), batches))
        """,
        "loss-accumulation-leak",
        says=["`running`"],
    ),
    case(
        "average_meter",
        """
        import torch
        class AverageMeter:
            def __init__(self):
                self.sum, self.count = 0.0, 0
            def update(self, value, n=1):
                self.sum += value * n  # CULPRIT
                self.count += n
        net = torch.nn.Linear(2, 1)
        meter = AverageMeter()
        for step in range(3):
            loss = net(torch.ones(4, 2)).pow(2).mean()
            net.zero_grad()
            loss.backward()
            meter.update(loss, 4)
        """,
        "loss-accumulation-leak",
        says=["`self.sum`"],
    ),
    case(
        "dict_of_metrics",
        """
        import torch
        from collections import defaultdict
        w = torch.randn(3, requires_grad=True)
        metrics = defaultdict(float)
        for step in range(3):
            data = (w - 1).pow(2).sum()
            prior = w.abs().sum()
            (data + prior).backward()
            w.grad = None
            metrics["data"] += data.item()
            metrics["prior"] += prior  # CULPRIT
        """,
        "loss-accumulation-leak",
    ),
    case(
        "smoothed_loss",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        smooth = torch.zeros(())
        for step in range(3):
            loss = net(torch.ones(4, 2)).pow(2).mean()
            loss.backward()
            smooth = 0.9 * smooth + 0.1 * loss  # CULPRIT
        """,
        "loss-accumulation-leak",
    ),
    case(
        "validation_sum",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        net.train()
        net(torch.ones(4, 2)).pow(2).mean().backward()
        net.eval()
        val_loss = 0
        for batch in range(3):
            out = net(torch.randn(4, 2))
            val_loss += nn.functional.mse_loss(out, torch.zeros(4, 1))  # CULPRIT
        print(val_loss.item())
        """,
        "loss-accumulation-leak",
    ),
    case(
        "running_mean_of_a_layer",
        """
        import torch
        import torch.nn as nn
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)
                self.mean = torch.zeros(2)
            def forward(self, x):
                h = self.fc(x)
                self.mean = 0.9 * self.mean + 0.1 * h.mean(0)  # CULPRIT
                return h - h.mean(0)
        net = Norm()
        for step in range(3):
            net(torch.randn(4, 2)).pow(2).mean().backward()
            net.zero_grad()
        """,
        "loss-accumulation-leak",
    ),
    case(
        "validation_in_training_mode",
        """
        import torch
        import torch.nn as nn
        net, criterion = nn.Linear(2, 1), nn.MSELoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        def validate(batches):
            total = 0
            for x in batches:
                total += criterion(net(x), torch.ones(2, 1))  # CULPRIT
            return total / len(batches)
        for epoch in range(2):
            optimizer.zero_grad()
            criterion(net(torch.ones(2, 2)), torch.ones(2, 1)).backward()
            optimizer.step()
            print(validate(torch.randn(3, 2, 2)))
        """,
        "loss-accumulation-leak",
    ),
    case(
        "features_in_a_list",
        """
        import torch
        import torch.nn as nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 2)
            def forward(self, x):
                return torch.tanh(self.fc(x))
        encoder = Encoder()
        encoder.eval()
        features = []
        for batch in range(4):
            z = encoder(torch.randn(5, 3))  # CULPRIT
            features.append(z)
        """,
        "eval-without-no-grad",
        says=["`features`"],
    ),
    case(
        "predictions_concatenated",
        """
        import torch
        import torch.nn as nn
        def predict(net, batches):
            net.eval()
            outputs = []
            for x in batches:
                outputs.append(net(x))  # CULPRIT
            return torch.cat(outputs).argmax(1)
        net = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2))
        for epoch in range(2):
            net.train()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            labels = predict(net, [torch.randn(4, 3) for _ in range(3)])
        """,
        "eval-without-no-grad",
    ),
    case(
        "validation_losses_in_a_list",
        """
        import torch
        import torch.nn as nn
        net, criterion = nn.Linear(2, 1), nn.MSELoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        history = []
        for epoch in range(3):
            optimizer.zero_grad()
            criterion(net(torch.ones(2, 2)), torch.ones(2, 1)).backward()
            optimizer.step()
            val = criterion(net(torch.zeros(2, 2)), torch.ones(2, 1))  # CULPRIT
            history.append(val)
        """,
        "eval-without-no-grad",
    ),
    case(
        "penalty_through_grad",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward(create_graph=True)  # CULPRIT
        penalty = sum(p.grad.pow(2).sum() for p in net.parameters())
        penalty.backward()
        optimizer.step()
        """,
        "create-graph-backward-cycle",
    ),
    case(
        "hook_that_prints_its_tensor",
        """
        import torch
        import torch.nn as nn
        class Probe(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)
            def forward(self, x):
                h = torch.relu(self.body(x))
                h.register_hook(lambda g: print(h.shape, g.norm()))  # CULPRIT
                return h.sum()
        Probe()(torch.ones(2, 3)).backward()
        """,
        "hook-holds-its-graph",
        says=["`h`"],
    ),
    case(
        "node_hook_that_holds_the_output",
        """
        import torch
        def watched(x):
            y = x.exp()
            seen = []
            def note(inputs, outputs):
                seen.append((y.shape, len(outputs)))
            y.grad_fn.register_hook(note)  # CULPRIT
            return y.sum()
        watched(torch.ones(3, requires_grad=True)).backward()
        """,
        "hook-holds-its-graph",
        engines=("gradtape",),  # PyTorch's nodes cannot be watched for hooks
    ),
]

FINE = [
    case(
        "items_and_detached",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        total, smooth, history = 0.0, 0.0, []
        for step in range(4):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            net.zero_grad()
            loss.backward()
            total += loss.item()
            smooth = 0.9 * smooth + 0.1 * loss.detach()
            history.append(loss)
        """,
    ),
    case(
        "sum_of_parts_and_one_pass",
        """
        import torch
        nets = [torch.nn.Linear(2, 1) for _ in range(3)]
        for epoch in range(2):
            total = 0
            for net in nets:
                total += net(torch.ones(1, 2)).pow(2).sum()
            total.backward()
            print(total.item())
        """,
    ),
    case(
        "unfinished_accumulation",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        pending = 0
        for step in range(1, 9):
            pending = pending + net(torch.ones(1, 2)).pow(2).sum()
            if step % 3 == 0:
                pending.backward()
                pending = 0
        """,
    ),
    case(
        "evaluation_without_graphs",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
        net.eval()
        with torch.no_grad():
            predictions = [net(torch.ones(1, 2)) for _ in range(3)]
            total = sum(each.sum() for each in predictions)
        net.train()
        outputs = [net(torch.ones(1, 2)) for _ in range(3)]
        torch.cat(outputs).sum().backward()
        """,
    ),
    case(
        "results_of_one_forward",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        a = net(torch.ones(1, 2))
        b = net(torch.zeros(1, 2))
        difference = (a - b).pow(2).sum()
        difference.backward()
        """,
    ),
    case(
        "create_graph_and_cleared",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        for step in range(3):
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)
            curvature = torch.autograd.grad(w.grad.sum(), w)
            w.grad = None
        """,
    ),
    case(
        "hooks_without_cycles",
        """
        import torch
        norms = []
        def forward(x, w):
            h = x * w
            shape = h.shape
            h.register_hook(lambda g: norms.append((shape, g.norm().item())))
            w.register_hook(lambda g: g * w.detach().sign())
            return h.sum()
        forward(torch.ones(2), torch.ones(2, requires_grad=True)).backward()
        """,
    ),
    case(
        "hook_removed",
        """
        import torch
        def forward(x):
            h = x.exp()
            handle = h.register_hook(lambda g: print(h.shape))
            h.sum().backward()
            handle.remove()
        forward(torch.ones(2, requires_grad=True))
        """,
    ),
    case(
        "moments_of_weights",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        average = net.weight.detach().clone()
        for step in range(3):
            net(torch.ones(1, 2)).sum().backward()
            with torch.no_grad():
                average = 0.9 * average + 0.1 * net.weight
        """,
    ),
]
