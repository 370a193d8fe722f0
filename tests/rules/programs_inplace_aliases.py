"""Programs that write saved memory under another name, seen or unseen by autograd."""

from __future__ import annotations

from tests.rules.harness import Case, case

VIEWS: list[Case] = [
    case(
        "flat_view_is_zeroed",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = (x * 2).view(2, 2)
        flat = h.view(-1)
        out = h * h
        flat.zero_()  # CULPRIT
        out.sum().backward()
        """,
        "inplace-through-alias",
        says=["`flat`", "`h`", "MulBackward0"],
    ),
    case(
        "reshape_that_is_a_view",
        """
        import torch

        def flatten_and_scale(t):
            rows = t.reshape(t.shape[0], -1)
            rows *= 0.1  # CULPRIT
            return rows

        w = torch.randn(2, 2, 2, requires_grad=True)
        h = w + 1
        energy = h.square().sum()
        rows = flatten_and_scale(h)
        (energy + rows.sum()).backward()
        """,
        "inplace-through-alias",
    ),
    case(
        "base_is_written_after_a_view_was_saved",
        """
        import torch

        x = torch.ones(2, 3, requires_grad=True)
        h = x * 2
        t = h.t()
        y = t.exp() * t
        h.add_(1)  # CULPRIT
        (y.sum() + h.sum()).backward()
        """,
        "inplace-through-alias",
    ),
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
]

DATA: list[Case] = [
    case(
        "scaled_through_data",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        loss = (h ** 2).sum()
        h.data.mul_(0.5)  # CULPRIT
        loss.backward()
        """,
        "data-bypasses-version",
        says=["PowBackward0", "`.data`"],
    ),
    case(
        "item_through_data",
        """
        import torch

        w = torch.randn(3, requires_grad=True)
        x = torch.randn(3, requires_grad=True)
        loss = (w * x).sum()
        w.data[0] = 0.0  # CULPRIT
        loss.backward()
        w.data -= 0.1 * w.grad
        """,
        "data-bypasses-version",
    ),
    case(
        "clipping_weights_of_a_critic_too_early",
        """
        import torch
        import torch.nn as nn

        critic = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
        opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
        for _ in range(2):
            loss = critic(torch.randn(4, 2)).mean() - critic(torch.randn(4, 2)).mean()
            for p in critic.parameters():
                p.data.clamp_(-0.01, 0.01)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "data-bypasses-version",
    ),
    case(
        "update_between_two_losses",
        """
        import torch

        w = torch.tensor([0.5, -0.5], requires_grad=True)
        v = torch.tensor([2.0, 3.0], requires_grad=True)
        first = (w * v).sum()
        second = (w * v * v).sum()
        first.backward()
        for p in (w, v):
            p.data -= 0.1 * p.grad  # CULPRIT
        second.backward()
        """,
        "data-bypasses-version",
    ),
]

ARRAYS: list[Case] = [
    case(
        "array_is_cleared",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1
        loss = (h ** 2).sum()
        arr = h.detach().numpy()
        arr[:] = 0.0  # CULPRIT
        loss.backward()
        """,
        "numpy-alias-write",
        says=["`h`", "PowBackward0", "arr"],
    ),
    case(
        "from_numpy_data_is_normalised_late",
        """
        import numpy as np
        import torch

        data = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
        data += 1.0
        batch = torch.from_numpy(data)
        w = torch.ones(2, 1, requires_grad=True)
        pred = batch @ w
        data -= data.mean()  # CULPRIT
        pred.sum().backward()
        data *= 2.0
        """,
        "numpy-alias-write",
    ),
    case(
        "written_in_a_function",
        """
        import numpy as np
        import torch

        def threshold(values, limit):
            low = values < limit
            values[low] = 0.0  # CULPRIT
            return low.sum()

        def report(t):
            arr = t.detach().cpu().numpy()
            return threshold(arr, 0.5)

        x = torch.tensor([0.1, 0.9], requires_grad=True)
        p = torch.sigmoid(x * 4 - 2)
        report(p)
        p.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_out_argument",
        """
        import numpy as np
        import torch

        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = torch.exp(x)
        a = y.detach().numpy()
        b = a.reshape(3, 1)
        before = b.copy()
        before[:] = 1.0
        np.log(b, out=b)  # CULPRIT
        (y * 2).sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "only_the_write_between_counts",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 2
        view = h.detach().numpy()
        view += 1.0
        loss = h.square().sum()
        view.fill(0.0)  # CULPRIT
        loss.backward()
        view.sort()
        """,
        "numpy-alias-write",
    ),
    case(
        "buffer_refilled_in_a_loop",
        """
        import numpy as np
        import torch

        class Loader:
            def __init__(self):
                self.buffer = np.zeros((2, 2), dtype=np.float32)

            def next(self, step):
                self.buffer[...] = step + 1.0  # CULPRIT
                return torch.from_numpy(self.buffer)

        loader = Loader()
        w = torch.ones(2, 1, requires_grad=True)
        losses = []
        for step in range(2):
            losses.append((loader.next(step) @ w).mean())
        sum(losses).backward()
        """,
        "numpy-alias-write",
    ),
]
