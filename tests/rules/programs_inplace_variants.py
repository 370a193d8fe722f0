"""The mistakes of the other tables as they look elsewhere: shorter, nested, renamed."""

from __future__ import annotations

from tests.rules.harness import Case, case

SAVED: list[Case] = [
    case(
        "seq_sigmoid_relu",
        """
        import torch
        import torch.nn as nn
        act = nn.ReLU(inplace=True)  # CULPRIT
        net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), act, nn.Linear(3, 1))
        out = net(torch.ones(4, 2))
        out.sum().backward()
        """,
        "inplace-saved-output",
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
    case(
        "data_set",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        loss = (w * x).sum()
        w.data = w.data * 5  # CULPRIT
        loss.backward()
        print(x.grad)
        """,
        "data-bypasses-version",
    ),
    case(
        "data_copy_",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        best = {k: v.clone() for k, v in net.state_dict().items()}
        loss = net(torch.ones(1, 2)).sum()
        for k, p in net.named_parameters():
            p.data.copy_(best[k] * 2)  # CULPRIT
        loss.backward()
        """,
        "data-bypasses-version",
    ),
    case(
        "load_state_dict",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        best = {k: v.clone() * 2 for k, v in net.state_dict().items()}
        loss = net(torch.ones(1, 2)).sum()
        net.load_state_dict(best)  # CULPRIT
        loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "init_again",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        loss = net(torch.ones(1, 2)).sum()
        nn.init.zeros_(net[1].weight)  # CULPRIT
        loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "row_softmax_loop",
        """
        import torch
        a = torch.rand(3, 3, requires_grad=True)
        m = a.exp()
        for i in range(3):
            m[i] = m[i] / m[i].sum()  # CULPRIT
        m.sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
    case(
        "two_candidates",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        h += 1
        k = h.sin()
        h = h * 1
        h -= 1
        h2 = h.log1p()
        h += 5  # CULPRIT
        (h + k + h2).sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "method_chain",
        """
        import torch
        import torch.nn.functional as F
        def act(x):
            return torch.sigmoid(x).mul_(2).sub_(1)  # CULPRIT
        w = torch.ones(2, requires_grad=True)
        act(w * 3).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "index_add",
        """
        import torch
        w = torch.ones(4, requires_grad=True)
        h = w.tanh()
        h.index_add_(0, torch.tensor([0, 1]), torch.ones(2))  # CULPRIT
        h.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "masked_assign_where",
        """
        import torch
        x = torch.randn(5, requires_grad=True)
        d = x - 1
        loss = d.abs()
        d[d < 0] = 0  # CULPRIT
        (loss + d).sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "buffer_lstm_lists",
        """
        import torch
        import torch.nn as nn
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(2, 2)
            def forward(self, x):
                hs = x.new_zeros(x.size(0) + 1, 1, 2)
                for t in range(x.size(0)):
                    hs[t + 1] = self.cell(x[t], hs[t])  # CULPRIT
                return hs
        m = M()
        m(torch.randn(3, 1, 2)).sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
    case(
        "inside_lambda",
        """
        import torch
        f = lambda t: t.exp().add_(1)  # CULPRIT
        w = torch.ones(2, requires_grad=True)
        f(w).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "autograd_grad",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y * y
        y.zero_()  # CULPRIT
        torch.autograd.grad(z.sum(), x)
        """,
        "inplace-saved-input",
    ),
    case(
        "double_backward_grad",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = (x ** 3).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        p = (g ** 2).sum()
        g.mul_(2)  # CULPRIT
        p.backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "nested_fn_backward_saved",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x * g
        w = torch.ones(3, requires_grad=True)
        h = w * 2
        y = Square.apply(h)
        h.add_(1)  # CULPRIT
        y.sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "dataclass_attr",
        """
        import torch
        class State:
            def __init__(self, h):
                self.h = h
                self.row = h[0]
        w = torch.ones(2, 2, requires_grad=True)
        s = State(w * 1)
        e = (s.h ** 2).sum()
        s.row += 1  # CULPRIT
        (e + s.h.sum()).backward()
        """,
        "inplace-through-alias",
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
    case(
        "detach_numpyless_no_grad_alias",
        """
        import torch
        w = torch.ones(2, 2, requires_grad=True)
        h = w * 1
        e = (h ** 2).sum()
        with torch.no_grad():
            h /= h.max()  # CULPRIT
        e.backward()
        """,
        "inplace-saved-input",
    ),
]
