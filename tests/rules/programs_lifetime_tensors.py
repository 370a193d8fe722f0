"""More programs about single tensors: leaves, inputs, modes they were made in."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "second_input_unused",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.tensor([3.0], requires_grad=True)
        loss = (x ** 2).sum()
        gx, gy = torch.autograd.grad(loss, (x, y))  # CULPRIT
        """,
        "unused-input-in-grad",
    ),
    case(
        "clone_made_later",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (x ** 2).sum()
        x2 = x.clone()  # CULPRIT
        (g,) = torch.autograd.grad(loss, [x2])
        """,
        "unused-input-in-grad",
    ),
    case(
        "slice_made_for_the_call",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        loss = (x ** 2).sum()
        g0 = torch.autograd.grad(loss, x[0])  # CULPRIT
        """,
        "unused-input-in-grad",
    ),
    case(
        "retained_after_the_sum",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = torch.tanh(x)
        loss = h.sum()
        loss.backward()
        h.retain_grad()  # CULPRIT
        print("no gradient:", h.grad is None)
        """,
        "retain-grad-too-late",
    ),
    case(
        "retained_too_late_in_a_loop",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        for step in range(2):
            h = net(torch.ones(1, 2))
            loss = h.pow(2).sum()
            loss.backward()
            h.retain_grad()  # CULPRIT
            if h.grad is not None:
                print(h.grad)
        """,
        "retain-grad-too-late",
    ),
    case(
        "optimizer_of_a_converted_leaf",
        """
        import torch
        w = torch.randn(3, requires_grad=True).to(torch.float64)  # CULPRIT
        opt = torch.optim.SGD([w], lr=0.1)
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "optimizer_of_an_output",
        """
        import torch
        enc = torch.nn.Linear(2, 2)
        latent = enc(torch.ones(1, 2))  # CULPRIT
        groups = [{"params": enc.parameters()}, {"params": [latent]}]
        opt = torch.optim.Adam(groups, lr=0.1)
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "embedding_in_inference_mode",
        """
        import torch
        emb = torch.nn.Embedding(4, 3)
        w = torch.randn(3, requires_grad=True)
        with torch.inference_mode():
            e = emb(torch.tensor([1, 2]))  # CULPRIT
        loss = (e * w).sum()
        loss.backward()
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "buffer_from_inference_mode",
        """
        import torch
        with torch.inference_mode():
            buf = torch.zeros(3)  # CULPRIT
        buf.add_(1)
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "leaf_from_inference_mode",
        """
        import torch
        with torch.inference_mode():
            z = torch.randn(3)  # CULPRIT
        z.requires_grad_()
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "extractor_in_inference_mode",
        """
        import torch
        import torch.nn as nn
        class Enc(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x):
                return torch.relu(self.fc(x))
        enc, head = Enc(), nn.Linear(3, 1)
        @torch.inference_mode()  # CULPRIT
        def extract(x):
            return enc(x)
        feats = [extract(torch.randn(2, 3)) for _ in range(2)]
        loss = head(feats[0]).mean()
        loss.backward()
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "moved_after_the_leaf",
        """
        import torch
        device = "cpu"
        w = torch.randn(3, requires_grad=True).to(torch.float64).to(device)  # CULPRIT
        for step in range(2):
            loss = (w ** 2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "rebound_through_another_name",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        lr = 0.1
        for i in range(3):
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            new_w = w - lr * w.grad  # CULPRIT
            w = new_w
        """,
        "reassigned-leaf",
    ),
    case(
        "rebound_and_zeroed",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        for i in range(3):
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            w = w - 0.1 * w.grad  # CULPRIT
            w.grad.zero_()
        """,
        "reassigned-leaf",
    ),
    case(
        "stack_of_losses",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2)
        losses = torch.stack([net(torch.ones(1, 2)).sum() for _ in range(2)])  # CULPRIT
        losses.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "loss_within_a_module",
        """
        import torch
        import torch.nn as nn
        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 1)
                self.crit = nn.MSELoss(reduction="none")
            def forward(self, x, y):
                out = self.net(x)
                return self.crit(out, y)
        m = WithLoss()
        loss = m(torch.ones(3, 2), torch.zeros(3, 1))  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "masked_and_not_reduced",
        """
        import torch
        import torch.nn.functional as F
        x = torch.zeros(3, 2, requires_grad=True)
        loss = F.cross_entropy(x, torch.tensor([0, 1, 0]), reduction="none")
        mask = torch.tensor([1.0, 0.0, 1.0])
        loss = loss * mask  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "gradient_of_what_a_hook_kept",
        """
        import torch
        from torch import nn
        class GradCam:
            def __init__(self, net, layer):
                self.net, self.maps = net, None
                layer.register_forward_hook(self.keep)
            def keep(self, module, args, out):
                self.maps = out  # CULPRIT
            def __call__(self, x):
                self.net(x)[0, 1].backward()
                return (self.maps.grad.mean() * self.maps).sum()
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        GradCam(net, net[0])(torch.randn(1, 3))
        """,
        "intermediate-grad-none",
        says=["`self.maps.retain_grad()`"],
    ),
    case(
        "gradient_of_an_item_a_hook_kept",
        """
        import torch
        from torch import nn
        kept = {}
        def keep(name):
            def hook(module, args, out):
                kept[name] = out  # CULPRIT
            return hook
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        net[1].register_forward_hook(keep("tanh"))
        net(torch.randn(1, 3)).sum().backward()
        print(kept["tanh"].grad)
        """,
        "intermediate-grad-none",
    ),
    case(
        "input_of_a_frozen_net_switched_on_late",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1).requires_grad_(False)
        x = torch.zeros(1, 4)
        score = net(x)
        x.requires_grad_(True)  # CULPRIT
        score.backward()
        """,
        "requires-grad-too-late",
    ),
]
