"""GV106: detach-shares-storage."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "detached_copy_for_plotting",
        """
        import torch

        x = torch.randn(4, requires_grad=True)
        y = torch.sigmoid(x)
        shown = y.detach()
        shown[shown < 0.5] = 0  # CULPRIT
        y.sum().backward()
        """,
        "detach-shares-storage",
        says=["SigmoidBackward0", "`shown`", "detach"],
    ),
    case(
        "detached_view_in_a_running_mean",
        """
        import torch

        class Tracker:
            def __init__(self):
                self.mean = None

            def update(self, t):
                if self.mean is None:
                    self.mean = t.detach()
                else:
                    self.mean.mul_(0.9).add_(t.detach(), alpha=0.1)  # CULPRIT

        tracker = Tracker()
        w = torch.ones(3, requires_grad=True)
        total = 0.0
        for step in range(2):
            h = w * (step + 1)
            tracker.update(h)
            total = total + (h ** 2).sum()
        total.backward()
        """,
        "detach-shares-storage",
        says=["`self.mean"],
    ),
    case(
        "attention_weights_edited_for_plot",
        """
        import torch
        import torch.nn as nn
        class Att(nn.Module):
            def forward(self, q, k, v):
                a = torch.softmax(q @ k.T, dim=-1)
                self.last = a.detach()
                return a @ v
        att = Att()
        q = torch.randn(3, 2, requires_grad=True)
        out = att(q, q, q)
        top = att.last
        top[top < top.max()] = 0  # CULPRIT
        out.sum().backward()
        """,
        "detach-shares-storage",
    ),
    case(
        "detach_requires",
        """
        import torch
        w = torch.ones(2, 2, requires_grad=True)
        h = w * 1
        e = (h ** 2).sum()
        snap = h.detach()[0]
        snap.fill_(0)  # CULPRIT
        e.backward()
        """,
        "detach-shares-storage",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "detached_activations_centred",
        """
        import torch
        h = torch.tanh(torch.ones(3, requires_grad=True))
        shown = h.detach()  # INSTEAD
        shown -= shown.mean()  # CULPRIT
        h.sum().backward()
        """,
        "detach-shares-storage",
    ),
]
