"""RIGHT. Quantisation-aware training with learned step sizes (LSQ): rounding with detach, scaled gradients, step sizes written in place.
TRUTH: (round(x) - x).detach() + x is the straight-through estimator, the clamp lets the gradient through only inside the range, the step size gets its gradient by the division and the multiplication, and the in-place writes to the step sizes happen under no_grad between optimizer steps.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def grad_scale(x, scale):
    y = x * scale
    return (x - y).detach() + y


def round_pass(x):
    return (x.round() - x).detach() + x


class LsqQuantizer(nn.Module):
    def __init__(self, bits, signed):
        super().__init__()
        self.qn = -(2 ** (bits - 1)) if signed else 0
        self.qp = 2 ** (bits - 1) - 1 if signed else 2 ** bits - 1
        self.step = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def init_from(self, x):
        self.step.copy_(2 * x.abs().mean() / self.qp ** 0.5 + 1e-8)
        self.ready.fill_(True)

    @torch.no_grad()
    def keep_positive(self):
        self.step.clamp_(min=1e-6)

    def forward(self, x):
        if not self.ready:
            self.init_from(x)
        s = grad_scale(self.step, 1.0 / (x.numel() * self.qp) ** 0.5)
        v = torch.clamp(x / s, self.qn, self.qp)
        return round_pass(v) * s


class QLinear(nn.Linear):
    def __init__(self, n_in, n_out, w_bits=3, a_bits=4, signed_input=False):
        super().__init__(n_in, n_out)
        self.wq = LsqQuantizer(w_bits, signed=True)
        self.aq = LsqQuantizer(a_bits, signed=signed_input)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)


def build(quantised):
    if quantised:
        layers = [QLinear(8, 48, a_bits=8, signed_input=True), nn.ReLU(), QLinear(48, 48), nn.ReLU(), QLinear(48, 4)]
    else:
        layers = [nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4)]
    return nn.Sequential(*layers)


def make_data(n):
    x = torch.randn(n, 8)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] + x[:, 3] > 0).long()
    return x, y


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def fit(model, optimizer, x, y, epochs):
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(128):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for m in model.modules():
                if isinstance(m, LsqQuantizer):
                    m.keep_positive()
    return loss.item()


def main():
    x, y = make_data(2048)
    xv, yv = make_data(1024)
    floating = build(False)
    fit(floating, torch.optim.Adam(floating.parameters(), lr=1e-2), x, y, 8)
    print(f"float accuracy {accuracy(floating, xv, yv):.3f}")

    model = build(True)
    missing, unexpected = model.load_state_dict(floating.state_dict(), strict=False)
    assert not unexpected and all(".wq." in k or ".aq." in k for k in missing)
    with torch.no_grad():
        model(x[:64])
    print(f"quantised, before training {accuracy(model, xv, yv):.3f}")
    steps = [p for n, p in model.named_parameters() if n.endswith("step")]
    others = [p for n, p in model.named_parameters() if not n.endswith("step")]
    start = [p.item() for p in steps]
    optimizer = torch.optim.Adam([{"params": others, "lr": 5e-3}, {"params": steps, "lr": 1e-3}])
    loss = fit(model, optimizer, x, y, 10)
    print(f"quantised, after training {accuracy(model, xv, yv):.3f} (train {accuracy(model, x, y):.3f}) loss {loss:.3f}")
    print("levels of the first weight:", model[0].wq(model[0].weight).unique().numel())
    print("step sizes moved:", all(abs(a - p.item()) > 0 for a, p in zip(start, steps)))


if __name__ == "__main__":
    main()
