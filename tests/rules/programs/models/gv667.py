"""GV667: same-tensor-kept."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "memory_of_one_state",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        state = torch.zeros(3)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        memory = []
        def act(s):
            s += 0.1 * torch.randn(3)  # CULPRIT
            return s
        for step in range(12):
            state = act(state)
            memory.append(state)  # CULPRIT
            if len(memory) >= 4:
                batch = torch.stack(memory[-4:])
                opt.zero_grad()
                net(batch).pow(2).mean().backward()
                opt.step()
        """,
        "same-tensor-kept",
        says=["`state.clone()`"],
    ),
    case(
        "frames_that_a_recorder_keeps_of_a_simulation",
        """
        import torch
        from torch import nn
        class System:
            def __init__(self):
                self.state = torch.randn(5, 2)
            def advance(self):
                self.state[:, 0].add_(self.state[:, 1], alpha=0.1)
        class Recorder:
            def __init__(self):
                self.frames = []
            def __call__(self, step, system):
                if step % 2 == 0:
                    self.frames.append((step, system.state))  # CULPRIT
        class Pairs:
            def __init__(self, kept):
                self.now = torch.cat([state for _, state in kept[:-1]])
        system, recorder = System(), Recorder()
        for step in range(8):
            recorder(step, system)
            system.advance()
        net = nn.Linear(2, 2)
        net(Pairs(recorder.frames).now).square().mean().backward()
        """,
        "same-tensor-kept",
    ),
    case(
        "copies_of_a_state_and_one_state_repeated",
        """
        import torch
        from torch import nn
        state, kept = torch.zeros(3), []
        for _ in range(4):
            state += torch.randn(3)
            kept.append(state.clone())
        net = nn.Linear(3, 2)
        batch = torch.cat([torch.stack(kept), torch.stack([state] * 3)])
        net(batch).square().mean().backward()
        """,
    ),
    case(
        "states_that_a_generator_hands_out",
        """
        import torch
        from torch import nn
        def walk(steps):
            x = torch.zeros(3)
            for _ in range(steps):
                x += torch.randn(3)
                yield x  # CULPRIT
        path = torch.stack(list(walk(6)))
        net = nn.Linear(3, 2)
        net(path).square().mean().backward()
        """,
        "same-tensor-kept",
    ),
    case(
        "states_under_a_key_and_a_shared_weight",
        """
        import torch
        from torch import nn
        net, seen, shared = nn.Linear(3, 3), {"x": [], "t": []}, []
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            shared.append(net.weight)
        x = torch.zeros(3)
        for step in range(4):
            x.mul_(0.9).add_(torch.randn(3))
            seen["x"].append(x)  # CULPRIT
            seen["t"].append(step)
            loss = (x @ torch.stack(shared).mean(0).t()).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        net(torch.stack(seen["x"])).square().mean().backward()
        """,
        "same-tensor-kept",
    ),
    case(
        "samples_of_the_one_state_of_a_simulator",
        """
        import torch
        from torch import nn
        class Hover:
            def __init__(self):
                self.state = torch.zeros(3)
            def step(self):
                self.state[1:] += 0.1 * torch.randn(2)
                self.state[0] *= 0.9
                return self.state  # CULPRIT
        class Replay:
            def __init__(self):
                self.following = []
            def add(self, following):
                self.following.append(following)
            def sample(self, n):
                rows = torch.randperm(len(self.following))[:n].tolist()
                pick = lambda items: torch.stack([items[i] for i in rows])
                return pick(self.following)
        hover, replay = Hover(), Replay()
        for _ in range(6):
            following = hover.step()
            replay.add(following)
        net = nn.Linear(3, 2)
        net(replay.sample(4)).square().mean().backward()
        """,
        "same-tensor-kept",
        says=["`self.state.clone()`"],
    ),
    case(
        "rows_of_a_walk_that_share_its_memory",
        """
        import torch
        class Walk:
            def __init__(self):
                self.place = torch.zeros(3, requires_grad=True)
                self.trace = []
            def move(self):
                loss = (self.place - 1).square().sum()
                loss.backward()
                with torch.no_grad():
                    self.place -= 0.1 * self.place.grad
                    self.place.grad = None
        walk = Walk()
        for _ in range(6):
            walk.move()
            walk.trace.append(walk.place.detach())  # CULPRIT
        spread = torch.stack(walk.trace).std(0)
        """,
        "same-tensor-kept",
        says=["6 times the same memory", "`walk.place.detach().clone()`"],
    ),
    case(
        "one_result_for_many_beginnings",
        """
        import torch
        place = torch.zeros(3, requires_grad=True)
        for _ in range(4):
            loss = (place - 1).square().sum()
            loss.backward()
            with torch.no_grad():
                place -= 0.1 * place.grad
                place.grad = None
        starts = torch.stack([place.detach() for _ in range(5)])
        starts = starts + torch.randn(5, 3)
        """,
    ),
]
