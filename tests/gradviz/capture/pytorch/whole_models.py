"""Whole models, written once for whatever module ``t`` is called torch, narrow ones.

Each function returns the loss of one pass through a network with random weights. The
graphs are as large as those of the real models; the tensors are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def resnet50(t: Any) -> Any:
    """ResNet-50 for pictures of 32 x 32, an eighth as wide as the original."""
    nn = t.nn

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * width
            self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                    nn.BatchNorm2d(outputs),
                )

        def forward(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.relu(self.bn2(self.conv2(out)))
            out = self.bn3(self.conv3(out))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    def layer(inputs: int, width: int, count: int, stride: int) -> Any:
        blocks = [Bottleneck(inputs, width, stride)]
        blocks += [Bottleneck(4 * width, width, 1) for _ in range(count - 1)]
        return nn.Sequential(*blocks)

    net = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, padding=3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, padding=1),
        layer(8, 8, 3, 1),
        layer(32, 16, 4, 2),
        layer(64, 32, 6, 2),
        layer(128, 64, 3, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    logits = net(t.randn(2, 3, 32, 32))
    return nn.functional.cross_entropy(logits, t.randint(0, 10, (2,)))


def gpt(t: Any, layers: int = 12) -> Any:
    """A GPT of 12 blocks, 16 wide, with 2 heads, over 8 tokens."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.c_attn, self.c_proj = nn.Linear(16, 48), nn.Linear(16, 16)
            self.c_fc, self.c_out = nn.Linear(16, 64), nn.Linear(64, 16)
            self.register_buffer("mask", t.tril(t.ones(8, 8)) == 0)

        def attend(self, x: Any) -> Any:
            parts = self.c_attn(x).split(16, dim=2)
            q, k, v = [p.view(2, 8, 2, 8).transpose(1, 2) for p in parts]
            scores = (q @ k.transpose(-2, -1)) * 8**-0.5
            weights = scores.masked_fill(self.mask, float("-inf")).softmax(-1)
            return self.c_proj((weights @ v).transpose(1, 2).reshape(2, 8, 16))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.ln_1(x))
            return x + self.c_out(nn.functional.gelu(self.c_fc(self.ln_2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(11, 16), nn.Embedding(8, 16)
            self.h = nn.ModuleList([Block() for _ in range(layers)])
            self.ln_f, self.head = nn.LayerNorm(16), nn.Linear(16, 11, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(t.arange(8))
            for block in self.h:
                x = block(x)
            return self.head(self.ln_f(x))

    tokens = t.randint(0, 11, (2, 9))
    logits = GPT()(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.view(-1, 11), tokens[:, 1:].reshape(-1))


def lstm(t: Any, steps: int = 200) -> Any:
    """An LSTM cell in own code over 200 steps, 4 wide."""
    nn = t.nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ih, self.hh = nn.Linear(3, 16), nn.Linear(4, 16)

        def forward(self, x: Any) -> Any:
            h, c = t.zeros(2, 4), t.zeros(2, 4)
            states: list[Any] = []
            for step in range(steps):
                i, f, g, o = (self.ih(x[:, step]) + self.hh(h)).chunk(4, dim=1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                states.append(h)
            return t.stack(states, dim=1)

    return Cell()(t.randn(2, steps, 3)).pow(2).mean()


MODELS: dict[str, Callable[[Any], Any]] = {
    "resnet50": resnet50,
    "gpt": gpt,
    "lstm": lstm,
}
