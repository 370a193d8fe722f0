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
]
