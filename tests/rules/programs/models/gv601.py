"""GV601: unused-submodule."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "functions_made_in_a_loop_call_the_last_head",
        """
        import torch
        from torch import nn
        body = nn.Linear(3, 4)
        heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
        calls = []
        for head in heads:
            calls.append(lambda h: head(h))  # CULPRIT
        parameters = [*body.parameters(), *heads.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(3):
            h = torch.relu(body(torch.randn(8, 3)))
            loss = sum(call(h).square().mean() for call in calls)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loop-variable-bound-late",
        says=["head=head"],
    ),
    case(
        "a_loss_is_printed_and_left_out",
        """
        import torch
        from torch import nn
        body, main, aux = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        parameters = [*body.parameters(), *main.parameters(), *aux.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(3):
            h = torch.relu(body(torch.randn(8, 3)))
            first, second = main(h).square().mean(), aux(h).abs().mean()
            loss = 2 * first  # CULPRIT
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item(), second.item())
        """,
        "unused-submodule",
        says=["`second.item()`", "Add `second` to the loss here"],
    ),
    case(
        "layer_never_called",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.skip = nn.Sequential(  # CULPRIT
                    nn.Linear(4, 4), nn.ReLU()
                )
                self.head = nn.Linear(4, 1)

            def forward(self, x):
                return self.head(torch.relu(self.body(x)))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`skip`", "never called", "skip.0.weight"],
    ),
    case(
        "result_of_a_layer_dropped",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)
                self.b = nn.Linear(4, 4)

            def forward(self, x):
                y = self.a(x)  # CULPRIT
                y = self.b(x)
                return y

        net = Net()
        for step in range(2):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            net.zero_grad()
        """,
        "unused-submodule",
        related=["constructed here"],
    ),
    case(
        "parameter_left_out_of_forward",
        """
        import torch
        from torch import nn

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.gain = nn.Parameter(torch.ones(3))  # CULPRIT

            def forward(self, x):
                return self.fc(x)

        net = Scaled()
        opt = torch.optim.Adam(net.parameters())
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(2, 3)).sum().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["gain"],
    ),
    case(
        "expert_chosen_in_python",
        """
        import torch
        from torch import nn

        class Routed(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(4, 2)
                self.experts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

            def forward(self, x):
                scores = torch.softmax(self.gate(x).mean(0), 0)
                best = scores.argmax().item()  # CULPRIT
                return self.experts[best](x)

        net = Routed()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`gate`", "argmax"],
    ),
    case(
        "gate_that_leaves_as_a_number",
        """
        import torch
        from torch import nn
        class RBF(nn.Module):
            def __init__(self):
                super().__init__()
                self.raw = nn.Parameter(torch.tensor(0.5))
                self.centers = nn.Parameter(torch.randn(4, 2))
            @property
            def gamma(self):
                return 1 + 2 * float(nn.functional.softplus(self.raw))  # CULPRIT
            def forward(self, x):
                gaps = (x[:, None] - self.centers).pow(2).sum(-1)
                return torch.exp(-self.gamma * gaps).sum(1)
        net = RBF()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(5, 2)) - 1).pow(2).mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["ends in `float("],
    ),
    case(
        "lone_leaf_that_leaves_as_a_number",
        """
        import torch
        w = torch.randn(4, requires_grad=True)
        scale = torch.tensor(0.5, requires_grad=True)
        opt = torch.optim.SGD([w, scale], lr=0.1)
        x, y = torch.randn(10, 4), torch.randn(10)
        for _ in range(3):
            temperature = 1.0 + 2.0 * scale.item()  # CULPRIT
            loss = (x @ w / temperature - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`scale`"],
    ),
    case(
        "stage_that_runs_in_the_place_of_another",
        """
        import torch
        from torch import nn
        class Decoder(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.up = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
                self.head = nn.Linear(4, 1)
            def forward(self, h):
                last = len(self.up) - 1
                for i in range(last + 1):
                    stage = self.up[-1] if i == last else self.up[0]  # CULPRIT
                    h = torch.relu(stage(h)) + h
                return self.head(h)
        net = Decoder()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(5, 4)).square().mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`up.1`", "`up.0` more than once"],
    ),
    case(
        "experts_that_inputs_pick",
        """
        import torch
        from torch import nn
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
                self.head = nn.Linear(4, 1)
            def forward(self, x):
                rows = [self.experts[int(row[0] > 0)](row) for row in x]
                return self.head(torch.stack(rows))
        torch.manual_seed(0)
        net = Experts()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(3, 4)).square().mean().backward()
            opt.step()
        """,
    ),
    case(
        "number_that_an_argument_happens_to_have_too",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        net, gate = nn.Linear(4, 2), nn.Parameter(torch.tensor([0.5]))
        opt = torch.optim.SGD([*net.parameters(), gate], lr=0.1)
        for step in range(3):
            loss = F.dropout(net(torch.randn(6, 4)), 0.5).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(gate.item())  # CULPRIT
        """,
        "unused-submodule",
    ),
    case(
        "number_that_the_program_spells_out_where_it_is_used",
        """
        import torch
        from torch import nn
        critic, actor = nn.Linear(2, 1), nn.Linear(2, 1)
        opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
        x = torch.randn(8, 2)
        for step in range(3):
            sure = (critic(x) * 0).sigmoid().mean().item()
            loss = 0.5 * actor(x).pow(2).mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(sure)  # one half, too
        """,
        "unused-submodule",
        says=["leaves that value out of the loss"],
    ),
    case(
        "zip_ends_before_the_last_layer",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.down = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
                self.up = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
            def forward(self, x):
                kept = []
                for layer in self.down:
                    x = torch.tanh(layer(x))
                    kept.append(x)
                for layer, skip in zip(self.up, kept[-2::-1]):  # CULPRIT
                    x = torch.tanh(layer(x + skip))
                return x
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            opt.zero_grad()
            net(torch.randn(5, 4)).square().mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`up.2`", "ends before it"],
    ),
    case(
        "zip_of_some_layers",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
                self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(depth))
            def forward(self, x, stage):
                outs = []
                for layer, head in zip(self.layers[:stage], self.heads):
                    x = torch.tanh(layer(x))
                    outs.append(head(x))
                return outs
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(5):
            opt.zero_grad()
            outs = net(torch.randn(5, 4), 2)
            sum(each.square().mean() for each in outs).backward()
            opt.step()
        """,
    ),
    case(
        "zip_that_leaves_the_last_layer_to_the_end",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
                self.norms = nn.ModuleList(nn.LayerNorm(4) for _ in range(depth - 1))
            def forward(self, x):
                for layer, norm in zip(self.layers, self.norms):
                    x = torch.tanh(norm(layer(x)))
                return self.layers[-1](x)
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            opt.zero_grad()
            net(torch.randn(5, 4)).square().mean().backward()
            opt.step()
        """,
    ),
]
