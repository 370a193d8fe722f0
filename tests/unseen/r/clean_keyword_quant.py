"""Quantisation-aware training of a keyword spotter with 4-bit weights.

TRUTH: the quantiser divides with rounding_mode="floor", whose gradient is zero everywhere, so the quantised weights get gradients of zeros; weight grads are all 0 and only biases learn (printed gradient norm 0); add a straight-through estimator.
"""
import torch
import torch.nn.functional as F
from torch import nn


def quantise(w, bits=4):
    """Symmetric per-tensor grid with 2**bits - 1 levels."""
    top = 2 ** (bits - 1) - 1
    step = w.detach().abs().max() / top
    exact = w / step
    level = exact + (torch.floor(exact + 0.5) - exact).detach()
    return level.clamp(-top, top) * step


class QuantLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, quantise(self.weight), self.bias)


def spotter(n_in, n_words):
    return nn.Sequential(
        QuantLinear(n_in, 48), nn.ReLU(),
        QuantLinear(48, 48), nn.ReLU(),
        QuantLinear(48, n_words),
    )


def weight_grad_norm(model):
    return sum(m.weight.grad.norm().item() for m in model if isinstance(m, QuantLinear))


def features(n, templates, gen):
    word = torch.randint(0, len(templates), (n,), generator=gen)
    speed = 1.0 + 0.2 * torch.randn(n, 1, generator=gen)
    x = templates[word] * speed + 0.6 * torch.randn(n, templates.shape[1], generator=gen)
    return x, word


def main(n_in=40, n_words=8, steps=150):
    torch.manual_seed(12)
    gen = torch.Generator().manual_seed(12)
    templates = torch.randn(n_words, n_in, generator=gen)
    model = spotter(n_in, n_words)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        x, word = features(64, templates, gen)
        logits = model(x)
        loss = F.cross_entropy(logits, word)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0 or step == steps - 1:
            acc = (logits.argmax(1) == word).float().mean()
            print(f"{step:3d} loss {loss.item():.3f} acc {acc:.2f} |dW| {weight_grad_norm(model):.4f}")


if __name__ == "__main__":
    main()
