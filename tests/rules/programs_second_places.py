"""Programs that can be mended in a second line, too: the one marked ``# INSTEAD``."""

from __future__ import annotations

from tests.rules.harness import case

TWO_PLACES = [
    case(
        "mask_turned_around",
        """
        import torch
        import torch.nn as nn
        scores = nn.Linear(3, 3)(torch.randn(3, 3))
        keep = torch.tril(torch.ones(3, 3)) == 1
        masked = scores.masked_fill(keep, float("-inf"))  # INSTEAD
        torch.softmax(masked, dim=-1).square().sum().backward()  # CULPRIT
        """,
        "nan-softmax-fully-masked",
    ),
    case(
        "slope_of_many_outputs",
        """
        import torch
        import torch.nn as nn
        field = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        def residual(points):
            u = field(points)  # INSTEAD
            (slope,) = torch.autograd.grad(u, points, create_graph=True)  # CULPRIT
            return slope[:, 0] - u[:, 0]
        residual(torch.rand(8, 2, requires_grad=True)).pow(2).mean().backward()
        """,
        "non-scalar-backward",
        says=["`grad_outputs=torch.ones_like(...)`"],
    ),
    case(
        "loss_of_each_sample",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        criterion = nn.CrossEntropyLoss(reduction="none")
        for _ in range(2):
            loss = criterion(net(torch.ones(2, 3)), torch.ones(2).long())  # CULPRIT
            loss.backward()  # INSTEAD
        """,
        "non-scalar-backward",
        says=["`backward(gradient=torch.ones_like(...))`"],
    ),
    case(
        "slopes_of_frozen_parameters",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        for p in net[0].parameters():
            p.requires_grad = False  # INSTEAD
        loss = net(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(net.parameters()))  # CULPRIT
        """,
        "grad-of-constant",
        says=["was frozen in line 5"],
    ),
    case(
        "decorated_encoder_in_inference_mode",
        """
        import torch
        import torch.nn as nn
        class Retriever(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.head = nn.Linear(6, 8), nn.Linear(8, 2)
            @torch.inference_mode()  # CULPRIT
            def embed(self, x):
                return torch.tanh(self.encoder(x))  # INSTEAD
            def forward(self, x):
                return self.head(self.embed(x))
        Retriever()(torch.randn(4, 6)).sum().backward()
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "image_of_bytes_clamped_to_one",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Flatten(), nn.Linear(12, 5)).requires_grad_(False)
        image = torch.full((1, 3, 2, 2), 128.0, requires_grad=True)  # CULPRIT
        opt = torch.optim.Adam([image], lr=1.0)
        for _ in range(3):
            score = net(image.clamp(0, 1))[0, 3]  # INSTEAD
            opt.zero_grad()
            score.backward()
            opt.step()
        """,
        "saturated-tanh",
        says=["range between the bounds"],
    ),
    case(
        "cleared_once_per_epoch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for x in torch.randn(3, 4, 3):
                loss = net(x).pow(2).mean()
                loss.backward()  # INSTEAD
                opt.step()
        """,
        "gradients-not-zeroed",
        says=["Line 6 does, but not in every turn."],
    ),
    case(
        "pairs_of_one_encoding",
        """
        import torch
        import torch.nn as nn
        encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        z = encoder(torch.randn(3, 4))  # CULPRIT
        for i in range(3):
            near = (z[i] - z[i - 1]).pow(2).sum()
            near.backward()  # INSTEAD
        """,
        "graph-built-outside-loop",
        says=["was computed once"],
    ),
    case(
        "model_of_each_fold",
        """
        import torch
        import torch.nn as nn
        def build():
            return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
        model = build()
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)  # INSTEAD
        for fold in range(2):
            model = build()  # CULPRIT
            for _ in range(3):
                loss = model(torch.randn(4, 3)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "weights_stepped_under_a_loss",
        """
        import torch
        import torch.nn as nn
        gen, disc = nn.Linear(2, 2), nn.Linear(2, 1)
        opt = torch.optim.SGD(disc.parameters(), lr=0.1)
        fake = gen(torch.ones(4, 2))
        g_loss = -disc(fake).mean()  # INSTEAD
        d_loss = disc(fake.detach()).mean()
        d_loss.backward()
        opt.step()  # CULPRIT
        g_loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "layer_that_writes_what_tanh_saved",
        """
        import torch
        import torch.nn as nn
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.relu = nn.ReLU(inplace=True)  # CULPRIT
            def forward(self, x):
                g = torch.tanh(self.fc(x))
                return self.relu(g)  # INSTEAD
        Gate()(torch.randn(2, 3)).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "array_of_a_saved_tensor",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1
        loss = (h ** 2).sum()
        arr = h.detach().numpy()  # INSTEAD
        arr[:] = 0.0  # CULPRIT
        loss.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "elements_differentiated_one_by_one",
        """
        import torch
        x = torch.randn(4, requires_grad=True)
        y = torch.tanh(x * 2)  # INSTEAD
        rows = [torch.autograd.grad(y[i], x)[0] for i in range(4)]  # CULPRIT
        """,
        "graph-built-outside-loop",
        says=["retain_graph=True"],
    ),
    case(
        "both_low_rank_factors_zero",
        """
        import torch
        import torch.nn as nn
        base = nn.Linear(6, 3).requires_grad_(False)
        a = nn.Parameter(torch.zeros(2, 6))  # CULPRIT
        b = nn.Parameter(torch.zeros(3, 2))  # INSTEAD
        opt = torch.optim.SGD([a, b], lr=0.1)
        for _ in range(3):
            x = torch.randn(8, 6)
            loss = (base(x) + x @ a.t() @ b.t()).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
    ),
    case(
        "classes_counted_from_integers",
        """
        import torch
        import torch.nn as nn
        labels = torch.tensor([0, 2, 1])
        smooth = nn.functional.one_hot(labels, num_classes=3)  # CULPRIT
        logits = nn.Linear(4, 3)(torch.randn(3, 4))
        loss = nn.CrossEntropyLoss()(logits, smooth)  # INSTEAD
        """,
        "dtype-mismatch",
    ),
    case(
        "slope_of_a_product_that_nothing_used",
        """
        import torch
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        product = a * b  # CULPRIT
        total = (a + 1).sum()
        torch.autograd.grad(total, [product])  # INSTEAD
        """,
        "unused-input-in-grad",
        says=["`total` was not computed from `product`"],
    ),
    case(
        "two_small_factors_in_half_precision",
        """
        import torch
        weight = torch.ones(1, dtype=torch.float16, requires_grad=True)
        small = weight * 1e-4  # CULPRIT
        loss = (small * 1e-4).sum()  # INSTEAD
        loss.backward()
        """,
        "half-precision-underflow",
        says=["too small for float16"],
    ),
    case(
        "only_the_head_is_cleared",
        """
        import torch
        import torch.nn as nn
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            head.zero_grad()  # CULPRIT
            head(body(torch.randn(8, 4))).pow(2).mean().backward()  # INSTEAD
            opt.step()
        """,
        "gradients-not-zeroed",
        says=["Line 6 does, but only for other parameters."],
    ),
    case(
        "result_of_the_turn_before_under_a_name_of_its_own",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        before = torch.zeros(8, 4)
        for _ in range(3):
            out = net(torch.randn(8, 4))
            loss = out.pow(2).mean() + (out - before).pow(2).mean()  # INSTEAD
            opt.zero_grad()
            loss.backward()
            opt.step()
            before = out  # CULPRIT
        """,
        "hidden-state-not-detached",
        says=["Keep `out.detach()` in line 12"],
    ),
    case(
        "step_that_comes_before_its_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(8, 4)).pow(2).mean()
            opt.zero_grad()  # CULPRIT
            opt.step()  # INSTEAD
            loss.backward()
        """,
        "zero-grad-before-step",
    ),
    case(
        "softmax_of_a_module_before_cross_entropy",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scores = nn.Linear(4, 3)
                self.shares = nn.Softmax(dim=1)  # CULPRIT
            def forward(self, x):
                return self.shares(self.scores(x))  # INSTEAD
        loss = nn.CrossEntropyLoss()(Net()(torch.randn(6, 4)), torch.arange(6) % 3)
        loss.backward()
        """,
        "double-softmax",
    ),
    case(
        "numbers_kept_and_made_a_tensor_later",
        """
        import torch
        policy, value = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
        opt = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.1)
        kept, rewards = [], []
        for step in range(4):
            state = torch.randn(3)
            kept.append(policy(state).squeeze().item())  # CULPRIT
            rewards.append(0.3 * step)
        returns = torch.tensor(rewards)
        scores = torch.tensor(kept)  # INSTEAD
        error = value(torch.ones(3)) - returns
        loss = (scores * error.detach()).sum() + error.pow(2).sum()
        loss.backward()
        """,
        "stack-of-items",
        says=["come back in line 10"],
    ),
    case(
        "array_kept_and_made_a_tensor_later",
        """
        import numpy as np
        import torch
        encode, decode = torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)
        opt = torch.optim.SGD([*encode.parameters(), *decode.parameters()], lr=0.1)
        x = torch.randn(5, 3)
        code = encode(x).detach().numpy()  # CULPRIT
        smooth = np.convolve(code.ravel(), np.ones(3) / 3, mode="same")
        again = torch.from_numpy(smooth.reshape(5, 4).astype(np.float32))  # INSTEAD
        decode(again).sub(x).pow(2).mean().backward()
        """,
        "numpy-roundtrip",
    ),
    case(
        "loss_of_a_module_that_keeps_the_hardest",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        class Hardest(nn.Module):
            def forward(self, scores, labels):
                each = F.cross_entropy(scores, labels, reduction="none")  # INSTEAD
                return each.topk(3).values
        net, criterion = nn.Linear(4, 3), Hardest()
        loss = criterion(net(torch.randn(6, 4)), torch.arange(6) % 3)  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
]
