"""Programs that the engine refuses with a word, and what looks alike and is fine."""

from __future__ import annotations

from tests.rules.harness import Case, case

WRONG: list[Case] = [
    case(
        "hook_averages_over_the_batch",
        """
        import torch
        lin = torch.nn.Linear(4, 3)
        h = lin(torch.randn(5, 4))
        def normalise(grad):
            return grad.mean(0)  # CULPRIT
        h.register_hook(normalise)
        h.pow(2).sum().backward()
        """,
        "hook-result-refused",
        says=["`h` (shape [5, 3])", "another shape"],
        related=["hook registered here"],
    ),
    case(
        "hook_returns_another_dtype",
        """
        import torch
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda g: g.double())  # CULPRIT
        y.sum().backward()
        """,
        "hook-result-refused",
        says=["DoubleTensor"],
    ),
    case(
        "hook_returns_a_norm_as_a_number",
        """
        import torch
        norms = []
        w = torch.ones(3, requires_grad=True)
        def note(grad):
            norms.append(float(grad.norm()))
            return norms[-1]  # CULPRIT
        w.register_hook(note)
        (w * 2).sum().backward()
        """,
        "hook-result-refused",
        says=["type float"],
    ),
    case(
        "one_hot_target_of_integers",
        """
        import torch
        import torch.nn.functional as F
        net = torch.nn.Linear(5, 3)
        target = F.one_hot(torch.tensor([0, 2, 1, 1]), 3)  # CULPRIT
        F.cross_entropy(net(torch.randn(4, 5)), target).backward()
        """,
        "dtype-mismatch",
        says=["`target` is int64"],
    ),
    case(
        "class_labels_as_floats",
        """
        import torch
        net = torch.nn.Linear(5, 3)
        labels = torch.tensor([0.0, 2.0, 1.0, 1.0])  # CULPRIT
        torch.nn.CrossEntropyLoss()(net(torch.randn(4, 5)), labels).backward()
        """,
        "dtype-mismatch",
        says=["`labels` is float32"],
    ),
    case(
        "mean_of_integers",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        counts = torch.tensor([3, 4, 5])  # CULPRIT
        ((counts - counts.mean()) * w).sum().backward()
        """,
        "dtype-mismatch",
        says=["`mean` does not work on int64"],
    ),
    case(
        "one_minus_a_mask",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        mask = torch.tensor([1.0, 0.0, 2.0]) > 0.5  # CULPRIT
        (w * (1 - mask)).sum().backward()
        """,
        "dtype-mismatch",
        says=["bool"],
    ),
    case(
        "energy_of_a_spectrum",
        """
        import torch
        signal = torch.randn(16, requires_grad=True)
        spectrum = torch.fft.fft(signal)
        loss = (spectrum * spectrum).sum()  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
        says=["complex64", "real"],
    ),
    case(
        "second_derivative_of_a_plain_gradient",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x ** 3).sum()
        (g,) = torch.autograd.grad(y, x)  # CULPRIT
        (h,) = torch.autograd.grad(g.sum(), x)
        """,
        "gradient-penalty-no-create-graph",
        says=["finds nothing to differentiate"],
    ),
    case(
        "row_out_of_range",
        """
        import torch
        x = torch.ones(3, 2, requires_grad=True)
        for row in range(4):
            y = x[row] * 2  # CULPRIT
        """,
        "call-refused",
    ),
    case(
        "batch_as_number",
        """
        import torch
        losses = torch.ones(3, requires_grad=True) * 2
        def report(values):
            return values.item()  # CULPRIT
        print(report(losses))
        """,
        "call-refused",
    ),
    case(
        "label_out_of_range",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        names = ["cat", "dog", "bird"]
        label_of = {name: i + 1 for i, name in enumerate(names)}
        samples = [(name, torch.randn(4)) for name in ("cat", "bird", "dog")]
        net = nn.Linear(4, len(names))
        criterion = nn.CrossEntropyLoss()
        x = torch.stack([s for _, s in samples])
        y = torch.tensor([label_of[n] for n, _ in samples])
        out = net(x)
        loss = criterion(out, y)  # CULPRIT
        loss.backward()
        """,
        "call-refused",
    ),
    case(
        "token_out_of_range",
        """
        import torch
        import torch.nn as nn

        class Tagger(nn.Module):
            def __init__(self, vocab, dim=8, tags=4):
                super().__init__()
                self.emb = nn.Embedding(vocab, dim)
                self.lstm = nn.LSTM(dim, dim, batch_first=True)
                self.out = nn.Linear(dim, tags)

            def forward(self, tokens):
                h, _ = self.lstm(self.emb(tokens))  # CULPRIT
                return self.out(h)

        vocab = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}
        net = Tagger(len(vocab))
        batch = torch.tensor([[1, 2, 3, 0], [1, 2, 4, 0]])
        net(batch).sum().backward()
        """,
        "call-refused",
    ),
]

FINE: list[Case] = [
    case(
        "clamp_that_passes_gradients_on",
        """
        import torch
        class Clamp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, low, high):
                ctx.mark_dirty(x)
                return x.clamp_(low, high)
            @staticmethod
            def backward(ctx, grad):
                return grad, None, None
        w = torch.tensor([-2.0, 0.3, 4.0], requires_grad=True)
        Clamp.apply(w * 1.0, -1.0, 1.0).sum().backward()
        """,
    ),
    case(
        "hooks_that_fit",
        """
        import torch
        h = torch.nn.Linear(4, 3)(torch.randn(5, 4))
        h.register_hook(lambda grad: grad - grad.mean(0))
        h.register_hook(lambda grad: None)
        h.pow(2).sum().backward()
        """,
    ),
    case(
        "power_of_a_spectrum",
        """
        import torch
        signal = torch.randn(16, requires_grad=True)
        torch.fft.fft(signal).abs().pow(2).mean().backward()
        """,
    ),
    case(
        "refused_by_the_program_itself",
        """
        import torch
        loss = torch.ones(3).sum()
        if loss > 2:
            raise RuntimeError("the loss is too large")
        """,
    ),
]
