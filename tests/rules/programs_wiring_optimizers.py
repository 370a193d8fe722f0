"""Optimizers beside the model: never stepped, given copies, cleared too often."""

from __future__ import annotations

from tests.rules.harness import Case, case

WRONG: list[Case] = [
    case(
        "critic_never_steps",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        actor_opt = torch.optim.Adam(actor.parameters(), 1e-3)
        critic_opt = torch.optim.Adam(critic.parameters(), 1e-3)  # CULPRIT

        for step in range(4):
            state = torch.randn(32, 3)
            action = torch.randn(32, 1)
            reward = -state.pow(2).sum(1, keepdim=True)
            q = critic(torch.cat([state, action], 1))
            critic_loss = (q - reward).pow(2).mean()
            critic_opt.zero_grad()
            critic_loss.backward()
            actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "decoder_left_out_of_the_step",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
        enc_opt = torch.optim.Adam(enc.parameters())
        dec_opt = torch.optim.Adam(dec.parameters())  # CULPRIT
        for _ in range(4):
            x = torch.randn(6, 4)
            loss = (dec(enc(x)) - x).pow(2).mean()
            enc_opt.zero_grad()
            dec_opt.zero_grad()
            loss.backward()
            enc_opt.step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "one_of_a_dict_steps",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        nets = {"a": nn.Linear(4, 3), "b": nn.Linear(3, 4)}
        sgd = torch.optim.SGD
        opts = {k: sgd(m.parameters(), 0.1) for k, m in nets.items()}  # CULPRIT
        for _ in range(4):
            x = torch.randn(6, 4)
            loss = (nets["b"](nets["a"](x)) - x).pow(2).mean()
            for o in opts.values():
                o.zero_grad()
            loss.backward()
            opts["a"].step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "optimizer_of_a_deepcopy",
        """
        import copy
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

        def make_optimizer(module, lr):
            params = copy.deepcopy(list(module.parameters()))
            return torch.optim.Adam(params, lr=lr)  # CULPRIT

        opt = make_optimizer(model, 1e-2)
        x, y = torch.randn(20, 3), torch.randn(20, 1)
        for epoch in range(4):
            loss = (model(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(loss.item())
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "optimizer_of_another_instance",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)
            def forward(self, x):
                return self.fc(x)
        model = Net()
        opt = torch.optim.Adam(Net().parameters(), 1e-2)  # CULPRIT
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "meta_model_whose_copies_learn",
        """
        import copy
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        meta = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        outer = torch.optim.Adam(meta.parameters(), 1e-3)
        for task in range(3):
            x, y = torch.rand(20, 1), torch.rand(20, 1)
            learner = copy.deepcopy(meta)  # CULPRIT
            inner = torch.optim.SGD(learner.parameters(), 0.05)
            for _ in range(2):
                inner.zero_grad()
                F.mse_loss(learner(x[:10]), y[:10]).backward()
                inner.step()
            loss = F.mse_loss(learner(x[10:]), y[10:])
            outer.zero_grad()
            loss.backward()
            outer.step()
        """,
        "optimizer-of-other-parameters",
        says=["`outer` (line 6)", "`learner.0.bias`, `learner.0.weight`"],
    ),
    case(
        "inner_step_detached",
        """
        import torch
        import torch.nn.functional as F

        torch.manual_seed(0)
        meta = [torch.randn(4, 2), torch.zeros(2)]
        for each in meta:
            each.requires_grad_()
        opt = torch.optim.SGD(meta, lr=0.01)

        def forward(params, x):
            return x @ params[0] + params[1]

        def adapt(params, x, y, lr=0.1):
            loss = F.mse_loss(forward(params, x), y)
            grads = torch.autograd.grad(loss, params, create_graph=True)
            pairs = zip(params, grads)
            return [(p - lr * g).detach().requires_grad_() for p, g in pairs]  # CULPRIT

        for it in range(3):
            xs, ys = torch.randn(5, 4), torch.randn(5, 2)
            fast = adapt(meta, xs, ys)
            outer = F.mse_loss(forward(fast, torch.randn(5, 4)), torch.randn(5, 2))
            opt.zero_grad()
            outer.backward()
            opt.step()
        print(meta[0].grad)
        """,
        "detach-in-forward",
    ),
    case(
        "last_batch_of_a_data_loader",
        """
        import torch
        import torch.nn as nn
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        data = TensorDataset(torch.randn(17, 5), torch.randn(17, 1))
        loader = DataLoader(data, batch_size=8)  # CULPRIT
        net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
        opt = torch.optim.Adam(net.parameters())
        for epoch in range(2):
            for x, y in loader:
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "loader_handed_to_a_function",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        def train(net, loader):
            for x, y in loader:
                nn.functional.mse_loss(net(x), y).backward()
        def main():
            data = TensorDataset(torch.randn(9, 5), torch.randn(9, 1))
            net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
            train(net, DataLoader(data, batch_size=4))  # CULPRIT
        main()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "log_softmax_layer_over_the_batch",
        """
        import torch
        import torch.nn as nn

        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)
                self.norm = nn.LogSoftmax(dim=0)  # CULPRIT

            def forward(self, x):
                return self.norm(self.fc(x))

        torch.manual_seed(0)
        head = Head()
        opt = torch.optim.SGD(head.parameters(), lr=0.1)
        loss_fn = nn.NLLLoss()
        x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
        for _ in range(3):
            loss = loss_fn(head(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "softmax-over-batch",
    ),
]

FINE: list[Case] = [
    case(
        "slow_optimizer_waits",
        """
        import torch
        body, head = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)
        slow = torch.optim.SGD(body.parameters(), 1e-3)
        fast = torch.optim.Adam(head.parameters(), 1e-2)
        for step in range(6):
            loss = head(body(torch.randn(5, 4)).relu()).pow(2).mean()
            for each in (slow, fast):
                each.zero_grad()
            loss.backward()
            fast.step()
            if step >= 4:
                slow.step()
        """,
    ),
    case(
        "generator_alone",
        """
        import torch
        gen, disc = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        opt_g = torch.optim.Adam(gen.parameters(), 1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), 1e-3)
        for step in range(3):
            opt_g.zero_grad()
            (-disc(gen(torch.randn(4, 2))).mean()).backward()
            opt_g.step()
        """,
    ),
    case(
        "closure_called_often",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
        x, y = torch.randn(20, 3), torch.randn(20, 1)
        def closure():
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            return loss
        for _ in range(3):
            opt.step(closure)
        """,
    ),
    case(
        "adversarial_pair",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        D = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        og, od = (torch.optim.Adam(m.parameters(), 1e-3) for m in (G, D))
        f = nn.BCEWithLogitsLoss()
        one, zero = torch.ones(8, 1), torch.zeros(8, 1)
        for _ in range(3):
            fake = G(torch.randn(8, 2))
            od.zero_grad()
            (f(D(torch.randn(8, 2)), one) + f(D(fake.detach()), zero)).backward()
            od.step()
            og.zero_grad()
            f(D(fake), one).backward()
            og.step()
        """,
    ),
    case(
        "optimizers_in_turns",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        enc = nn.Linear(4, 6)
        heads = nn.ModuleDict({"a": nn.Linear(6, 1), "b": nn.Linear(6, 1)})
        parts = [nn.ModuleList([enc, heads[k]]) for k in "ab"]
        opts = [torch.optim.SGD(each.parameters(), 0.01) for each in parts]
        for step in range(4):
            k = "ab"[step % 2]
            opt = opts[step % 2]
            x = torch.randn(8, 4)
            z = torch.relu(enc(x))
            other = heads["b" if k == "a" else "a"](z.detach()).mean()
            loss = heads[k](z).pow(2).mean() + 0.1 * other
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
