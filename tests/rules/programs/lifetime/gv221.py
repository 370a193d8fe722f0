"""GV221: inference-tensor-in-autograd."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_tensor_of_an_evaluation_in_inference_mode",
        """
        import torch
        net, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        with torch.inference_mode():
            features = net(torch.ones(2, 3))  # CULPRIT
            score = features.mean()
        print(score.item())
        head(features).mean().backward()
        """,
        "inference-tensor-in-autograd",
        related=["inference mode entered"],
    ),
    case(
        "features_from_inference_mode",
        """
        import torch
        backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        with torch.inference_mode():  # CULPRIT
            features = backbone(torch.ones(2, 3))
        loss = head(features).mean()
        loss.backward()
        """,
        "inference-tensor-in-autograd",
        says=["`features`"],
        related=["made here"],
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
    case(
        "embedding_in_inference_mode",
        """
        import torch
        emb = torch.nn.Embedding(4, 3)
        w = torch.randn(3, requires_grad=True)
        with torch.inference_mode():  # CULPRIT
            e = emb(torch.tensor([1, 2]))
        loss = (e * w).sum()
        loss.backward()
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "buffer_from_inference_mode",
        """
        import torch
        with torch.inference_mode():  # CULPRIT
            buf = torch.zeros(3)
        buf.add_(1)
        """,
        "inference-tensor-in-autograd",
    ),
    case(
        "leaf_from_inference_mode",
        """
        import torch
        with torch.inference_mode():  # CULPRIT
            z = torch.randn(3)
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
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
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
]
