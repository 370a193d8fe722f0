"""GV203: hidden-state-not-detached."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "state_kept_as_a_tuple_under_another_name",
        """
        import torch
        from torch import nn
        class Refiner(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 3)
            def forward(self, x, latent):
                latent = latent + self.encoder(x).tanh()
                return self.decoder(latent).tanh(), latent
        net = Refiner()
        def train(x):
            state = torch.zeros(5, 3), torch.zeros(5, 4)
            for turn in range(3):
                image, code = state
                y, latent = net(torch.cat([x, image], 1), code)
                ((y - x) ** 2).mean().backward()
                state = (y, latent)  # CULPRIT
        train(torch.randn(5, 3))
        """,
        "hidden-state-not-detached",
        says=["each of them"],
    ),
    case(
        "states_detached_and_dropped",
        """
        import torch
        from torch import nn
        class State:
            def __init__(self, *parts):
                self.parts = parts
            def detach(self):
                for part in self.parts:
                    part.detach()  # CULPRIT
        def train(cell, batches):
            state = State(torch.zeros(4, 5), torch.zeros(4, 5))
            for x in batches:
                h, c = cell(x, state.parts)
                h.pow(2).mean().backward()
                state.parts = h, c
                state.detach()
        train(nn.LSTMCell(3, 5), torch.randn(3, 4, 3))
        """,
        "hidden-state-not-detached",
        says=["nothing takes it"],
    ),
    case(
        "hidden_detached_and_dropped",
        """
        import torch
        from torch import nn
        cell = nn.GRUCell(3, 5)
        h = torch.zeros(4, 5)
        for x in torch.randn(3, 4, 3):
            h = cell(x, h)
            h.pow(2).mean().backward()
            h.detach()  # CULPRIT
        """,
        "hidden-state-not-detached",
        says=[
            "`h.detach()` gives a new tensor",
            "Keep what it gives: `h = h.detach()`",
        ],
    ),
    case(
        "running_mean_that_the_pass_needs",
        """
        import torch
        from torch import nn
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean = torch.zeros(3)
                self.rate = nn.Parameter(torch.tensor(0.5))
            def mix(self, old, new):
                return self.rate * old + (1 - self.rate) * new
            def forward(self, x):
                self.mean = self.mix(self.mean, x.mean(0))  # CULPRIT
                return x - self.mean
        norm = Norm()
        for step in range(3):
            norm(torch.randn(4, 3)).pow(2).mean().backward()
        """,
        "hidden-state-not-detached",
        says=["`self.mean`"],
    ),
    case(
        "teacher_written_with_the_graph_of_the_student",
        """
        import copy

        import torch
        from torch import nn
        from torch.nn import functional as F

        student = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        teacher = copy.deepcopy(student)
        for p in teacher.parameters():
            p.requires_grad_(False)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.05)

        def update_teacher(decay=0.99):
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.copy_(decay * slow + (1 - decay) * fast)  # CULPRIT

        for step in range(4):
            x = torch.randn(16, 8)
            wanted = F.softmax(teacher(x), dim=1)
            loss = F.kl_div(F.log_softmax(student(x), dim=1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_teacher()
        """,
        "hidden-state-not-detached",
        says=["`teacher.2.weight` keeps its graph"],
    ),
    case(
        "lstm_state",
        """
        import torch
        import torch.nn as nn
        lstm, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)
        parameters = [*lstm.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        state = None
        for batch in range(2):
            x = torch.randn(2, 4, 3)
            out, state = lstm(x, state)  # CULPRIT
            loss = head(out[:, -1]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "hidden-state-not-detached",
        says=["`state`"],
        related=["used in the next iteration"],
    ),
    case(
        "state_in_the_module",
        """
        import torch
        import torch.nn as nn
        class Memory(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.mix = nn.Linear(2 * size, size)
                self.h = torch.zeros(1, size)
            def forward(self, x):
                both = torch.cat([x, self.h], dim=1)
                self.h = torch.tanh(self.mix(both))  # CULPRIT
                return self.h
        model = Memory(4)
        optimizer = torch.optim.Adam(model.parameters())
        def train():
            for step in range(3):
                out = model(torch.randn(1, 4))
                loss = (out - 1).pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        train()
        """,
        "hidden-state-not-detached",
        says=["`self.h`"],
    ),
    case(
        "own_cell_in_a_function",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.x2h, self.h2h = nn.Linear(3, 4), nn.Linear(4, 4)
            def forward(self, x, h):
                return torch.tanh(self.x2h(x) + self.h2h(h))
        def train(cell, batches):
            hidden = torch.zeros(1, 4)
            for x in batches:
                hidden = cell(x, hidden)  # CULPRIT
                loss = hidden.pow(2).sum()
                loss.backward()
        train(Cell(), torch.randn(3, 1, 3))
        """,
        "hidden-state-not-detached",
        says=["`hidden`"],
    ),
    case(
        "chunks_of_a_sequence",
        """
        import torch
        import torch.nn as nn
        cell, head = nn.GRUCell(2, 3), nn.Linear(3, 1)
        series = torch.randn(8, 1, 2)
        h = torch.zeros(1, 3)
        for start in range(0, 8, 4):
            loss = 0.0
            for t in range(start, start + 4):
                h = cell(series[t], h)  # CULPRIT
                loss = loss + head(h).pow(2).sum()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "running_average_in_the_loss",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        average = torch.zeros(1)
        for step in range(3):
            out = net(torch.ones(4, 2)).pow(2).mean(0)
            average = 0.9 * average + 0.1 * out  # CULPRIT
            (average - 1).pow(2).sum().backward()
        """,
        "hidden-state-not-detached",
        says=["`average`"],
    ),
    case(
        "memory_of_a_module_keeps_graphs",
        """
        import torch
        from torch import nn
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.write, self.slots = nn.Linear(4, 4), []
            def forward(self, x):
                m = torch.tanh(self.write(x)).mean(0)
                self.slots.append(m)  # CULPRIT
                bank = torch.stack(self.slots[-4:])
                return torch.softmax(x @ bank.t(), -1) @ bank
        net = Memory()
        for _ in range(3):
            x = torch.randn(5, 4)
            loss = (net(x) - x).pow(2).mean()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "list_of_states",
        """
        import torch
        w = torch.tensor(0.9, requires_grad=True)
        states = [torch.tensor(1.0)]
        for step in range(4):
            states.append(states[-1] * w)  # CULPRIT
            loss = (states[-1] - 1) ** 2
            loss.backward()
        """,
        "hidden-state-not-detached",
        says=["Detach it where one iteration ends"],
    ),
    case(
        "state_under_another_name",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)
            def forward(self, x, h):
                z = torch.cat([x, h], 1)
                new = torch.tanh(self.fc(z))
                return new
        cell = Cell()
        h = torch.zeros(1, 2)
        for step in range(2):
            h_new = cell(torch.ones(1, 2), h)
            loss = h_new.pow(2).sum()
            loss.backward()
            h = h_new  # CULPRIT
        """,
        "hidden-state-not-detached",
    ),
    case(
        "state_in_a_dict",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(2, 2)
        memory = {"h": torch.zeros(1, 2)}
        for step in range(2):
            memory["h"] = torch.sigmoid(lin(memory["h"]))  # CULPRIT
            memory["h"].sum().backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "buffer_of_codes",
        """
        import torch
        import torch.nn as nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        buffer = []
        for step in range(3):
            z = torch.tanh(enc(torch.randn(1, 2)))  # CULPRIT
            buffer.append(z)
            loss = head(torch.cat(buffer)).mean()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "state_kept_under_another_name",
        script("""
class Carrying(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.last = torch.zeros(6, 4)

    def forward(self, x):
        state = x + self.last
        state = torch.tanh(self.cell(state))
        self.last = state  # CULPRIT
        return state


model = Carrying()
for x, _ in batches:
    model(x).pow(2).mean().backward()
"""),
        "hidden-state-not-detached",
    ),
    case(
        "centre_of_outputs_with_their_graph",
        """
        import torch
        import torch.nn as nn
        class Centre(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("value", torch.zeros(6))
            def update(self, out):
                self.value *= 0.9
                self.value += 0.1 * out.mean(dim=0)  # CULPRIT
        student, centre = nn.Linear(4, 6), Centre()
        for step in range(2):
            out = student(torch.randn(8, 4))
            loss = (out - centre.value).pow(2).mean()
            loss.backward()
            centre.update(out)
        """,
        "hidden-state-not-detached",
        says=["`self.value`"],
    ),
    case(
        "state_tuple_that_a_trainer_carries",
        """
        import torch
        import torch.nn as nn

        class CharLM(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.rnn = nn.Embedding(7, 4), nn.LSTM(4, 5)
                self.out = nn.Linear(5, 7)
            def forward(self, x, state):
                h, state = self.rnn(self.embed(x), state)
                return self.out(h), state

        def train(model, batches, opt):
            state = torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)
            for x, y in batches:
                opt.zero_grad()
                logits, state = model(x, state)  # CULPRIT
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
                loss.backward()
                opt.step()

        model = CharLM()
        batch = lambda: torch.randint(0, 7, (3, 2))
        train(model, [(batch(), batch()) for _ in range(3)],
              torch.optim.Adam(model.parameters()))
        """,
        "hidden-state-not-detached",
        says=["`state`"],
    ),
    case(
        "features_stored_with_their_graph",
        """
        import torch
        import torch.nn as nn
        bank, encoder = [], nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
        opt = torch.optim.SGD(encoder.parameters(), 0.05)
        for _ in range(3):
            x = torch.randn(4, 4)
            z = torch.tanh(encoder(x))
            old = torch.cat(bank) if bank else torch.zeros(1, 3)
            loss = (z @ old.t()).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            bank.append(z)  # CULPRIT
        """,
        "hidden-state-not-detached",
        says=["`z.detach()` in line 13"],
    ),
    case(
        "cache_of_encodings",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        enc = nn.Linear(4, 4)
        dec = nn.Linear(4, 4)
        opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
        cache = {}
        def encode(key, x):
            if key not in cache:
                cache[key] = enc(x)  # CULPRIT
            return cache[key]
        data = torch.randn(2, 3, 4)
        for epoch in range(2):
            for i, x in enumerate(data):
                loss = (dec(encode(i, x)) - x).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "hidden-state-not-detached",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "result_of_the_turn_before_under_a_name_of_its_own",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        before = torch.zeros(8, 4)
        for _ in range(3):
            out = net(torch.randn(8, 4))
            loss = out.pow(2).mean() + (out - before).pow(2).mean()  # INSTEAD
            opt.zero_grad()
            loss.backward()
            opt.step()
            before = out  # CULPRIT
        """,
        "hidden-state-not-detached",
        says=["Keep `out.detach()` in line 12"],
    ),
]
