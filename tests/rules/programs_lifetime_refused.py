"""Programs that PyTorch refuses: optimizers, switches and modes."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- optimizers and switches -----------------------------------------------------
    case(
        "optimizer_of_a_product",
        """
        import torch
        base = torch.randn(4, requires_grad=True)
        w = base * 0.1  # CULPRIT
        b = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.Adam([w, b], lr=0.01)
        """,
        "optimizer-given-nonleaf",
        says=["`w`"],
    ),
    case(
        "optimizer_of_a_moved_tensor",
        """
        import torch
        def make(n):
            return torch.zeros(n, requires_grad=True).to(torch.float64)  # CULPRIT
        codes = make(3)
        groups = [{"params": [codes], "lr": 0.1}]
        optimizer = torch.optim.SGD(groups)
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "integers_from_arange",
        """
        import torch
        grid = torch.arange(5)  # CULPRIT
        grid = grid.reshape(5, 1)
        grid.requires_grad_()
        """,
        "requires-grad-int",
        says=["int64"],
    ),
    case(
        "integers_as_a_parameter",
        """
        import torch
        class Bias(torch.nn.Module):
            def __init__(self, values):
                super().__init__()
                self.bias = torch.nn.Parameter(values)
        values = torch.tensor([0, 1, 2])  # CULPRIT
        Bias(values)
        """,
        "requires-grad-int",
    ),
    case(
        "long_of_floats",
        """
        import torch
        scores = torch.rand(3)
        labels = (scores * 10).long()  # CULPRIT
        labels.requires_grad = True
        """,
        "requires-grad-int",
    ),
    case(
        "grad_of_a_view_made_later",
        """
        import torch
        x = torch.randn(2, 3, requires_grad=True)
        y = x.pow(2).sum()
        flat = x.view(-1)  # CULPRIT
        (g,) = torch.autograd.grad(y, flat)
        """,
        "unused-input-in-grad",
        says=["`flat`", "later", "`x`"],
    ),
    case(
        "grad_of_an_unused_leaf",
        """
        import torch
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        loss = a ** 2
        print(b)
        ga, gb = torch.autograd.grad(loss, [a, b])  # CULPRIT
        """,
        "unused-input-in-grad",
        says=["`b`"],
    ),
    case(
        "switch_of_a_result",
        """
        import torch
        backbone = torch.nn.Linear(2, 2)
        features = backbone(torch.ones(1, 2))
        features.requires_grad = False  # CULPRIT
        """,
        "requires-grad-of-nonleaf",
        says=["`features`"],
    ),
    case(
        "retain_grad_of_detached",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        h = net(torch.ones(1, 2)).detach()  # CULPRIT
        h.retain_grad()
        """,
        "retain-grad-without-graph",
    ),
    case(
        "new_leaf_from_no_grad",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            y = x * 2
        y.requires_grad_()  # CULPRIT
        (y ** 2).sum().backward()
        print(x.grad)
        """,
        "new-leaf-after-no-grad",
        says=["`y`", "`x`"],
    ),
    # ---- inference mode --------------------------------------------------------------
    case(
        "features_from_inference_mode",
        """
        import torch
        backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        with torch.inference_mode():
            features = backbone(torch.ones(2, 3))  # CULPRIT
        loss = head(features).mean()
        loss.backward()
        """,
        "inference-tensor-in-autograd",
        says=["`features`"],
        related=["inference mode entered"],
    ),
    case(
        "embedding_function_in_inference_mode",
        """
        import torch
        table = torch.randn(5, 3)
        @torch.inference_mode()  # CULPRIT
        def embed(tokens):
            return table[tokens]
        w = torch.randn(3, requires_grad=True)
        vectors = embed(torch.tensor([1, 2]))
        (vectors * w).sum().backward()
        """,
        "inference-tensor-in-autograd",
    ),
]

FINE = [
    case(
        "gradient_given",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        y = x ** 2
        y.backward(torch.ones_like(y))
        """,
    ),
    case(
        "allowed_to_be_unused",
        """
        import torch
        a = torch.ones(1, requires_grad=True)
        b = torch.ones(1, requires_grad=True)
        ga, gb = torch.autograd.grad(a.sum(), [a, b], allow_unused=True)
        """,
    ),
    case(
        "inference_without_training",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        with torch.inference_mode():
            scores = [net(torch.ones(1, 3)).item() for _ in range(3)]
        net(torch.ones(1, 3)).sum().backward()
        """,
    ),
]
