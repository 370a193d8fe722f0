"""GV110: numpy-alias-write."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        says=["`h`", "arr"],
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
                self.buffer[...] = step + 1.0
                return torch.from_numpy(self.buffer)  # CULPRIT

        loader = Loader()
        w = torch.ones(2, 1, requires_grad=True)
        losses = []
        for step in range(2):
            losses.append((loader.next(step) @ w).mean())
        sum(losses).backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "loop_wrap_numpy",
        """
        import numpy as np
        import torch
        x = np.ones((2, 3), dtype=np.float32)
        xt = torch.from_numpy(x)
        w = torch.ones(3, 1, requires_grad=True)
        total = 0.0
        for step in range(3):
            out = (xt @ w).pow(2).mean()
            total = total + out
            x *= 0.9  # CULPRIT
        total.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "two_arrays",
        """
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a * 2
        q = a * 3
        loss = (p * p).sum() + q.sum()
        pn, qn = p.detach().numpy(), q.detach().numpy()
        qn[:] = 0
        pn[:] = 0  # CULPRIT
        loss.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "array_in_dict",
        """
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a.exp()
        log = {"p": p.detach().numpy()}
        log["p"] /= log["p"].sum()  # CULPRIT
        p.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "helper_returns_array",
        """
        import torch
        def to_np(t):
            return t.detach().cpu().numpy()
        def main():
            a = torch.ones(3, requires_grad=True)
            p = torch.tanh(a)
            arr = to_np(p)
            arr[0] = 7.0  # CULPRIT
            p.sum().backward()
        main()
        """,
        "numpy-alias-write",
    ),
    case(
        "dlpack",
        """
        import numpy as np
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a.exp()
        view = np.from_dlpack(p.detach())
        other = torch.from_dlpack(p.detach())
        other.zero_()  # CULPRIT
        p.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_asarray",
        """
        import torch
        import numpy as np
        x = torch.ones(3, requires_grad=True)
        y = x.sigmoid()
        a = np.asarray(y.detach())
        a *= 0  # CULPRIT
        y.sum().backward()
        print(x.grad)
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_inline",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.detach().numpy()[0] = 100.0  # CULPRIT
        y.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_copyto",
        """
        import numpy as np
        import torch
        x = torch.ones(3, requires_grad=True)
        y = x * x
        z = y * y
        buf = y.detach().numpy()
        other = buf.copy()
        other += 3
        np.copyto(buf, other)  # CULPRIT
        z.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "from_numpy_weights",
        """
        import numpy as np
        import torch
        arr = np.ones((3,), dtype=np.float32)
        w = torch.from_numpy(arr).requires_grad_()
        x = torch.ones(3, requires_grad=True)
        loss = (w * x).sum()
        arr -= 0.5  # CULPRIT
        loss.backward()
        print(x.grad)
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_method_self",
        """
        import numpy as np
        import torch
        class Ema:
            def __init__(self, t):
                self.value = t.detach().numpy()
            def update(self, new):
                self.value *= 0.9  # CULPRIT
                self.value += 0.1 * new
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        loss = (h * h).sum()
        ema = Ema(h)
        ema.update(np.zeros(3, dtype=np.float32))
        loss.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "numpy_shuffle",
        """
        import numpy as np
        import torch
        rng = np.random.default_rng(0)
        x = torch.arange(6.0)
        w = torch.ones(6, requires_grad=True)
        loss = (x * w).sum()
        idx = x.numpy()
        rng.shuffle(idx)  # CULPRIT
        loss.backward()
        """,
        "numpy-alias-write",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
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
]
