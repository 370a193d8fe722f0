"""Quantization-aware training of a keyword spotter for a microcontroller.

TRUTH: div with rounding_mode="floor" has gradient 0 everywhere, so the weights of all quantized layers get exactly zero gradients in every pass and stay at their start; use a straight-through estimator.
"""
import torch
import torch.nn.functional as F
from torch import nn


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__(n_in, n_out)
        self.levels = 2 ** (bits - 1) - 1

    def quantize(self, w):
        scale = w.detach().abs().max() / self.levels
        q = torch.div(w + scale / 2, scale, rounding_mode="floor") * scale  # CULPRIT
        return q

    def forward(self, x):
        return F.linear(x, self.quantize(self.weight), self.bias)


class KeywordNet(nn.Module):
    def __init__(self, features, words, width=48):
        super().__init__()
        self.l1 = QuantLinear(features, width)
        self.l2 = QuantLinear(width, width)
        self.l3 = QuantLinear(width, words)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


def clips(n, gen, prototypes):
    word = torch.randint(0, len(prototypes), (n,), generator=gen)
    loud = 0.5 + torch.rand(n, 1, generator=gen)
    return loud * prototypes[word] + 0.8 * torch.randn(n, prototypes.shape[1], generator=gen), word


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    prototypes = torch.randn(10, 40, generator=gen)
    model = KeywordNet(40, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(150):
        x, word = clips(128, gen, prototypes)
        logits = model(x)
        loss = F.cross_entropy(logits, word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0 or step == 149:
            accuracy = (logits.argmax(1) == word).float().mean().item()
            grad = model.l2.weight.grad.abs().max().item()
            print(f"step {step:3d}  loss {loss.item():.3f}  acc {accuracy:.2f}  max grad {grad:.4f}")


if __name__ == "__main__":
    main()
