"""The graphs that the view is timed on: recorded models, and synthetic ones.

Every graph is made here, from models in plain PyTorch and a seeded generator, so that
anyone can repeat the figures.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gradviz
from gradviz import ir

SEED = 7


def record(title: str, build: Callable[[Any], Callable[[], Any]]) -> ir.Snapshot:
    """Record the forward pass and backward() of a model in PyTorch."""
    import torch

    torch.manual_seed(SEED)
    run = build(torch)
    with gradviz.record(title=title) as recorder:
        run().backward()
    return recorder.snapshot()


def mlp() -> ir.Snapshot:
    """Three linear layers."""

    def build(t: Any) -> Callable[[], Any]:
        nn = t.nn
        layers = (nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        net = nn.Sequential(*layers, nn.Linear(128, 10))
        x, y = t.randn(32, 64), t.randint(0, 10, (32,))
        return lambda: nn.functional.cross_entropy(net(x), y)

    return record("MLP", build)


def resnet50() -> ir.Snapshot:
    """ResNet-50 with narrow channels: the same graph, less arithmetic."""
    return record("ResNet-50", _resnet50)


def _resnet50(t: Any) -> Callable[[], Any]:
    nn = t.nn
    conv = _convolution(nn)

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * width
            self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = conv(width, outputs, 1), nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                skip = conv(inputs, outputs, 1, stride)
                self.downsample = nn.Sequential(skip, nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            skip = x if self.downsample is None else self.downsample(x)
            x = self.relu(self.bn1(self.conv1(x)))
            x = self.relu(self.bn2(self.conv2(x)))
            return self.relu(self.bn3(self.conv3(x)) + skip)

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(3, 8, 7, 2), nn.BatchNorm2d(8)
            self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
            channels = 8
            for index, (count, width) in enumerate(((3, 8), (4, 16), (6, 32), (3, 64))):
                blocks = [
                    Bottleneck(
                        channels if block == 0 else 4 * width,
                        width,
                        2 if index and not block else 1,
                    )
                    for block in range(count)
                ]
                channels = 4 * width
                setattr(self, f"layer{index + 1}", nn.Sequential(*blocks))
            self.fc = nn.Linear(channels, 10)

        def forward(self, x: Any) -> Any:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean((2, 3)))

    net, x, y = ResNet(), t.randn(2, 3, 64, 64), t.randint(0, 10, (2,))
    return lambda: nn.functional.cross_entropy(net(x), y)


def _convolution(nn: Any) -> Callable[..., Any]:
    def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> Any:
        return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)

    return conv


def gpt12() -> ir.Snapshot:
    """A GPT of 12 layers, its attention written out."""
    return record("GPT, 12 layers", _gpt12)


def _gpt12(t: Any) -> Callable[[], Any]:
    nn, width, heads, words = t.nn, 32, 4, 16

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = self.c_attn(x).split(width, dim=2)
            q, k, v = (
                part.view(batch, length, heads, -1).transpose(1, 2)
                for part in (q, k, v)
            )
            scores = q @ k.transpose(-2, -1) / (width / heads) ** 0.5
            mask = t.tril(t.ones(length, length)) == 0
            weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
            mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
            return self.c_proj(mixed)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.attn = nn.LayerNorm(width), Attention()
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(50, width), nn.Embedding(words, width)
            self.h = nn.ModuleList(Block() for _ in range(12))
            self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, 50, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(t.arange(tokens.shape[1]))
            for block in self.h:
                x = block(x)
            return self.head(self.ln_f(x))

    net, tokens = GPT(), t.randint(0, 50, (2, words))

    def run() -> Any:
        logits = net(tokens).flatten(0, 1)
        return nn.functional.cross_entropy(logits, tokens.flatten())

    return run


def lstm(steps: int) -> ir.Snapshot:
    """An LSTM unrolled by hand, its gates written out."""

    def build(t: Any) -> Callable[[], Any]:
        nn, width = t.nn, 8

        class Cell(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.x2h, self.h2h = (
                    nn.Linear(4, 4 * width),
                    nn.Linear(width, 4 * width),
                )

            def forward(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
                i, f, g, o = (self.x2h(x) + self.h2h(h)).chunk(4, dim=1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                return o.sigmoid() * c.tanh(), c

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.cell, self.out = Cell(), nn.Linear(width, 1)

            def forward(self, xs: Any) -> Any:
                h = c = t.zeros(xs.shape[1], width)
                for x in xs:
                    h, c = self.cell(x, h, c)
                return self.out(h)

        net, xs = Net(), t.randn(steps, 2, 4)
        return lambda: net(xs).square().mean()

    return record(f"LSTM, {steps} steps", build)


def synthetic(count: int) -> ir.Snapshot:
    """Stages of four blocks, with residuals, long skips and shared weights."""
    draw = random.Random(SEED)
    nodes: list[ir.OpNode] = []
    edges: list[ir.Edge] = []
    scopes: list[ir.Scope] = []

    def add(call: str, scope: int | None, *sources: int, kind: str = "op") -> int:
        row = len(nodes)
        edges.extend(
            ir.Edge(source=source, output=0, target=row, input=place)
            for place, source in enumerate(sources)
        )
        name = "AccumulateGrad" if kind == "accumulate" else f"{call.title()}Backward0"
        nodes.append(ir.OpNode(name, kind, call=call, scope=scope, sequence=row))  # pyright: ignore[reportArgumentType]
        return row

    stream = add("embedding", None)
    stage, block, past = 0, 0, [stream]
    while len(nodes) < count:
        if block % 4 == 0:
            stage = len(scopes)
            name = f"stage{block // 4}"
            scopes.append(ir.Scope(name, name, "Stage"))
        scope, name = len(scopes), f"block{block % 4}"
        scopes.append(ir.Scope(f"{scopes[stage].path}.{name}", name, "Block", stage))
        last = stream
        for step in range(draw.choice((3, 4, 4, 5))):
            weight = add(f"weight{step}", scope, kind="accumulate")
            bias = add(f"bias{step}", scope, kind="accumulate")
            last = add("linear", scope, last, weight, bias)
            if draw.random() < 0.5:
                last = add("relu", scope, last)
        stream = add("add", scope, stream, last)
        if draw.random() < 0.1:
            stream = add("cat", scope, stream, draw.choice(past[-8:]))
        past.append(stream)
        block += 1
    return ir.Snapshot(
        "gradviz benchmarks",
        f"synthetic, {count:,} nodes",
        tuple(nodes),
        tuple(edges),
        scopes=tuple(scopes),
        roots=(stream,),
    )


GRAPHS: dict[str, Callable[[], ir.Snapshot]] = {
    "mlp": mlp,
    "resnet50": resnet50,
    "gpt12": gpt12,
    "lstm200": lambda: lstm(200),
    "lstm1000": lambda: lstm(1000),
    "synthetic1k": lambda: synthetic(1_000),
    "synthetic10k": lambda: synthetic(10_000),
    "synthetic100k": lambda: synthetic(100_000),
}
