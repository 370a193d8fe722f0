"""Tensors that are written or kept where it does no harm."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "last_steps_by_length",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import (
            pad_sequence,
            pack_padded_sequence,
            pad_packed_sequence,
        )
        seqs = [torch.randn(n, 3) for n in (7, 5, 4, 2)]
        y = torch.randint(0, 2, (4,))
        lens = torch.tensor([len(s) for s in seqs])
        rnn, head = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 2)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        x = pad_sequence(seqs, batch_first=True)
        for _ in range(3):
            o, (h, _) = rnn(pack_padded_sequence(x, lens, batch_first=True))
            o, _ = pad_packed_sequence(o, batch_first=True)
            z = o[torch.arange(4), lens - 1]
            opt.zero_grad()
            (F.cross_entropy(head(z), y) + F.cross_entropy(head(h[-1]), y)).backward()
            opt.step()
        same = pad_sequence([torch.randn(5, 3) for _ in range(4)], batch_first=True)
        o, _ = rnn(same)
        F.cross_entropy(head(o[:, -1]), y).backward()
        left = torch.zeros(4, 7, 3)
        for i, s in enumerate(seqs):
            left[i, 7 - len(s) :] = s
        o, _ = rnn(left)
        F.cross_entropy(head(o[:, -1]), y).backward()
        o, _ = rnn(x)
        m = (torch.arange(7)[None] < lens[:, None]).float()[..., None]
        F.cross_entropy(head((o * m).sum(1) / m.sum(1)), y).backward()
        """,
    ),
    case(
        "padding_left_out_of_losses",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import pad_sequence
        seqs = [torch.randint(1, 9, (n,)) for n in (7, 5, 4, 2)]
        tags = [torch.randint(1, 4, (len(s),)) for s in seqs]
        emb, rnn, head = (
            nn.Embedding(9, 4, padding_idx=0),
            nn.GRU(4, 6, batch_first=True),
            nn.Linear(6, 4),
        )
        opt = torch.optim.Adam(
            [*emb.parameters(), *rnn.parameters(), *head.parameters()]
        )
        x, t, u = (
            pad_sequence(seqs, batch_first=True),
            pad_sequence(tags, batch_first=True),
            pad_sequence(tags, batch_first=True, padding_value=-100),
        )
        for _ in range(3):
            o, _ = rnn(emb(x))
            s = head(o)
            l1 = F.cross_entropy(s.view(-1, 4), t.view(-1), ignore_index=0)
            l2 = F.cross_entropy(s.transpose(1, 2), u)
            l3 = F.cross_entropy(s.view(-1, 4), t.view(-1), reduction="none")
            m = (t.view(-1) != 0).float()
            l3 = (l3 * m).sum() / m.sum()
            l4 = F.cross_entropy(s[t != 0], t[t != 0])
            opt.zero_grad()
            (l1 + l2 + l3 + l4).backward()
            opt.step()
        """,
    ),
    case(
        "padding_left_out_under_another_number",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import pad_sequence
        tags = [torch.randint(1, 4, (n,)) for n in (7, 5, 4, 2)]
        head = nn.Linear(4, 3)
        opt = torch.optim.Adam(head.parameters())
        t = pad_sequence(tags, batch_first=True)
        x = torch.randn(4, 7, 4)
        for _ in range(3):
            rows = head(x).view(-1, 3)
            loss = F.cross_entropy(rows, (t - 1).view(-1), ignore_index=-1)
            without = (t - 1).masked_fill(t == 0, -100)
            loss = loss + F.cross_entropy(rows, without.view(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "states_that_go_on",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class OU:
            def __init__(self):
                self.state = torch.zeros(6, 2)
            def __call__(self):
                self.state += 0.15 * (0 - self.state) + 0.2 * torch.randn(6, 2)
                return self.state
        x = torch.rand(24, 4) * 255
        x /= 255
        mean = torch.zeros(4)
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        ou = OU()
        decay = torch.ones(24, 4)
        for epoch in range(4):
            for xb in x.split(6):
                mean.mul_(0.9).add_(0.1 * xb.mean(0))
                z = xb - mean
                z += 0.1 * torch.randn(6, 4)
                xb = xb.clone()
                xb *= 2
                opt.zero_grad()
                ((net(z) + ou()).pow(2).mean() + net(xb).mean()).backward()
                opt.step()
            decay *= 0.9
            opt.zero_grad()
            net(x * decay).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "chains_and_buffers",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # adversarial noise and Langevin chains are states that learn
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        chain = torch.randn(32, 4)
        data = torch.randn(32, 4)
        for step in range(4):
            idx = torch.randperm(32)[:8]
            s = chain[idx].requires_grad_()
            (g,) = torch.autograd.grad(net(s).sum(), s)
            s = (s - 0.1 * g + 0.01 * torch.randn_like(s)).detach()
            chain[idx] = s
            opt.zero_grad()
            (net(data).mean() - net(s).mean()).backward()
            opt.step()
        delta = torch.zeros(8, 4, requires_grad=True)
        for step in range(3):
            loss = net(data[:8] + delta).mean()
            loss.backward()
            with torch.no_grad():
                delta.add_(0.1 * delta.grad.sign()).clamp_(-0.3, 0.3)
            delta.grad = None
        # buffers refilled for every batch
        buf = torch.empty(8, 4)
        for step in range(4):
            buf.copy_(data[step * 8 : step * 8 + 8])
            buf.mul_(2).sub_(1)
            opt.zero_grad()
            net(buf).mean().backward()
            opt.step()
        """,
    ),
    case(
        "residual_blocks_in_place",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Basic(nn.Module):
            def __init__(self, c):
                super().__init__()
                self.conv1, self.bn1 = (
                    nn.Conv2d(c, c, 3, padding=1, bias=False),
                    nn.BatchNorm2d(c),
                )
                self.conv2, self.bn2, self.relu = (
                    nn.Conv2d(c, c, 3, padding=1, bias=False),
                    nn.BatchNorm2d(c),
                    nn.ReLU(inplace=True),
                )
            def forward(self, x):
                identity = x
                out = self.relu(self.bn1(self.conv1(x)))
                out = self.bn2(self.conv2(out))
                out += identity
                return self.relu(out)
        class Pre(nn.Module):
            def __init__(self, c):
                super().__init__()
                self.bn, self.conv = nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, padding=1)
            def forward(self, x):
                out = F.relu(self.bn(x), inplace=True)
                return self.conv(out) + x
        class Shared(
            nn.Module
        ):  # wide resnets: the activated input is the skip, on purpose
            def __init__(self, c):
                super().__init__()
                self.bn, self.conv, self.relu = (
                    nn.BatchNorm2d(c),
                    nn.Conv2d(c, c, 3, padding=1),
                    nn.ReLU(inplace=True),
                )
            def forward(self, x):
                x = self.relu(self.bn(x))
                return self.conv(x) + x
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.ReLU(inplace=True),
            Basic(4),
            Pre(4),
            Shared(4),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.1, inplace=True),
            nn.Linear(4, 2),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(4, 1, 6, 6), torch.randint(0, 2, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
    ),
    case(
        "skips_that_are_activated",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # pix2pix: the skip is the activated map, known and kept
        class Skip(nn.Module):
            def __init__(self, inner=None):
                super().__init__()
                layers = [nn.LeakyReLU(0.2, True), nn.Conv2d(4, 4, 4, 2, 1)]
                if inner is not None:
                    layers.append(inner)
                layers += [
                    nn.ReLU(True),
                    nn.ConvTranspose2d(8 if inner is not None else 4, 4, 4, 2, 1),
                ]
                self.model = nn.Sequential(*layers)
            def forward(self, x):
                return torch.cat([x, self.model(x)], 1)
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), Skip(Skip()), nn.Conv2d(8, 1, 1)
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
        for _ in range(3):
            opt.zero_grad()
            F.l1_loss(net(x), y).backward()
            opt.step()
        class R(nn.Module):
            def __init__(self):
                super().__init__()
                self.f = nn.Linear(1, 4)
                self.g = nn.Linear(4, 4)
            def forward(self, x):
                h = self.f(x)
                h.relu_()
                z = self.g(h)
                h = h + z
                a = F.relu(h, inplace=True)
                return a * 2
        r = R()
        r(torch.randn(3, 1)).sum().backward()
        """,
    ),
    case(
        "copies_in_a_memory",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        state = torch.zeros(3)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        memory = []
        for step in range(12):
            state += 0.1 * torch.randn(3)
            memory.append(state.clone())
            if len(memory) >= 4:
                batch = torch.stack(memory[-4:])
                opt.zero_grad()
                net(batch).pow(2).mean().backward()
                opt.step()
        noise = torch.zeros(3)
        noise.normal_()
        z = torch.stack([noise] * 4)
        net(z).sum().backward()
        """,
    ),
    case(
        "painted_masks_and_steps",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        masks = torch.zeros(6, 8, 8, dtype=torch.long)
        for i in range(6):
            masks[i, : i + 1, : 8 - i] = 1
            masks[i, i : i + 2, 1:4] = torch.ones(min(2, 8 - i), 3, dtype=torch.long)
        steps = torch.zeros(6, 10, dtype=torch.long)
        for i in range(6):
            steps[i, : i + 2] = 1
        net, head = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(4, 2)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            l1 = F.cross_entropy(net(torch.randn(6, 1, 8, 8)), masks)
            l2 = F.cross_entropy(head(torch.randn(6, 10, 4)).transpose(1, 2), steps)
            opt.zero_grad()
            (l1 + l2).backward()
            opt.step()
        """,
    ),
    case(
        "one_block_called_by_its_name",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = nn.Linear(4, 4)
                self.steps = nn.ModuleList([nn.ReLU()] * 3)
                self.each = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            def forward(self, x):
                for step, layer in zip(self.steps, self.each):
                    x = x + step(self.block(x)) + layer(x)
                return x
        net = Shared()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "batches_that_are_drawn_one_by_one",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
        shuffled = DataLoader(data, batch_size=8, shuffle=True)
        ordered = DataLoader(data, batch_size=8)
        whole = DataLoader(data, batch_size=40)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        walk = iter(ordered)
        kept, wanted = next(iter(ordered))
        for step in range(5):
            loss = F.mse_loss(net(kept), wanted)
            for x, y in (next(iter(shuffled)), next(iter(whole))):
                loss = loss + F.mse_loss(net(x), y)
            x, y = next(walk)
            loss = loss + F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                x, y = next(iter(ordered))
                error = F.mse_loss(net(x), y).item()
        """,
    ),
    case(
        "copies_that_are_copied_whole_or_only_asked",
        """
        import copy
        import torch
        from torch import nn
        import torch.nn.functional as F

        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
        shown = copy.copy(net)
        slow = copy.deepcopy(net)
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(8, 3)
            with torch.no_grad():
                goal = slow(x) * 0.9 + 0.1
                now = shown(x).mean().item()
            loss = F.mse_loss(net(x), goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
        slow.load_state_dict(net.state_dict())
        """,
    ),
    case(
        "average_kept_through_data",
        """
        import copy
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        slow = copy.deepcopy(net)
        for p in slow.parameters():
            p.requires_grad = False
        opt = torch.optim.Adam(net.parameters())
        for step in range(4):
            x = torch.randn(6, 4)
            with torch.no_grad():
                target = slow(x)
            loss = (net(x + 0.1 * torch.randn(6, 4)) - target - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(net.parameters(), slow.parameters()):
                    q.data.mul_(0.9).add_(p.data, alpha=0.1)
        """,
    ),
    case(
        "last_of_the_parameters_is_read",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        for p in net.parameters():
            p = p.detach()
        print(p)
        for p in net.parameters():
            p = p.requires_grad_(False)
        """,
    ),
    case(
        "gradient_of_what_an_activation_in_place_gave",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        torch.manual_seed(0)
        layer, head = nn.Linear(4, 3), nn.Linear(3, 2)
        def features(x):
            z = layer(x)
            z = F.relu_(z)
            return z
        a = features(torch.randn(5, 4))
        print(torch.autograd.grad(head(a).sum(), a)[0].shape)
        pre = layer(torch.randn(5, 4))
        h = F.relu_(pre)
        score = head(h).sum()
        print(torch.autograd.grad(score, h, retain_graph=True)[0].shape)
        score.backward()
        """,
    ),
]
