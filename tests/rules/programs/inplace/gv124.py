"""GV124: overlapping-operands."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "shifted_sum",
        """
        import torch

        x = torch.arange(5.0)
        x[1:] += x[:-1]  # CULPRIT
        """,
        "overlapping-operands",
    ),
    case(
        "frames_moved_within_a_buffer_that_nothing_refuses",
        """
        import torch
        from torch import nn

        class Stack:
            def __init__(self, count, depth, width):
                self.frames = torch.zeros(count, depth, width)

            def push(self, frame):
                self.frames[:, 1:] = self.frames[:, :-1]  # CULPRIT
                self.frames[:, 0] = frame
                return self.frames.flatten(1)

        stack, net = Stack(8, 4, 3), nn.Linear(12, 1)
        for _ in range(4):
            seen = stack.push(torch.randn(8, 3)).clone()
            net(seen).square().mean().backward()
        """,
        "overlapping-operands",
        says=["repeated", "nothing raises"],
        engines=("torch",),
    ),
    case(
        "columns_added_to_the_next_in_place",
        """
        import torch
        sums = torch.arange(12.0).reshape(3, 4)
        left, right = sums[:, :-1], sums[:, 1:]
        right.add_(left)  # CULPRIT
        """,
        "overlapping-operands",
        engines=("torch",),
    ),
    case(
        "delay_line_that_decays_into_itself",
        """
        import torch
        line, decay = torch.ones(2, 6), torch.tensor(0.9)
        for sound in torch.randn(3, 2):
            torch.mul(decay, line[:, :-1], out=line[:, 1:])  # CULPRIT
            line[:, 0] = sound
        """,
        "overlapping-operands",
        says=["lies 1 element behind"],
        engines=("torch",),  # the other one reads all before it writes
    ),
    case(
        "frames_moved_forward_or_from_a_copy",
        """
        import torch
        frames = torch.arange(24.0).reshape(2, 4, 3)
        frames[:, :-1] = frames[:, 1:]
        torch.mul(frames[:, 1:], 0.5, out=frames[:, :-1])
        frames[:, 1:] = frames[:, :-1].clone()
        frames[:, 2:] = frames[:, :2]
        frames[:, 1:, :] = frames[:, :-1] * 0.5
        frames[:, 1:] = torch.stack([frames[:, 0], frames[:, 1], frames[:, 2]], 1)
        """,
    ),
]
