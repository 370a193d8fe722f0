"""Two-stage transfer: pretrain an encoder on a big source task, freeze it, train only a new head on a few target samples.

TRUTH: component.requires_grad = False on a Module only sets a Python attribute on the module, the parameters keep requires_grad=True
and stay trainable. Symptom: the "frozen" encoder moves during the head stage (printed drift > 0), it overfits the few
target samples and the test accuracy ends lower. Fix: loop over the parameters (module.requires_grad_(False)).
Drawn from catalyst-team/catalyst#81.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "seed": 42,
    "source": {"n": 3000, "epochs": 6, "lr": 3e-3},
    "stages": {
        "head": {"n": 60, "epochs": 60, "lr": 1e-2, "frozen": ["encoder"]},
    },
}
DIM, LATENT, NUISANCE = 40, 6, 34


def make_mixing(seed):
    g = torch.Generator().manual_seed(seed)
    q, _ = torch.linalg.qr(torch.randn(DIM, DIM, generator=g))
    return q


def make_data(n, mix, teacher, seed):
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, LATENT, generator=g)
    noise = 1.5 * torch.randn(n, NUISANCE, generator=g)
    x = torch.cat([z, noise], 1) @ mix
    return x, (z @ teacher).argmax(1)


class Encoder(nn.Module):
    def __init__(self, width=64, out=16):
        super().__init__()
        self.fc1 = nn.Linear(DIM, width)
        self.fc2 = nn.Linear(width, out)

    def forward(self, x):
        return torch.tanh(self.fc2(F.relu(self.fc1(x))))


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.head(self.encoder(x))

    def replace_head(self, n_classes):
        self.head = nn.Linear(16, n_classes)


def process_components(model, stage):
    """Switches the components of the model named in the stage off for training."""
    for name, component in model.named_children():
        frozen = name in stage.get("frozen", [])
        component.requires_grad = not frozen  # CULPRIT
        component.train(not frozen)


def run_epoch(model, opt, x, y, bs=64):
    perm = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), bs):
        b = perm[i:i + bs]
        loss = F.cross_entropy(model(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    return total / len(x)


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(CONFIG["seed"])
    g = torch.Generator().manual_seed(3)
    mix = make_mixing(0)
    source_teacher = torch.randn(LATENT, 12, generator=g)
    target_teacher = torch.randn(LATENT, 4, generator=g)

    model = Net(12)
    cfg = CONFIG["source"]
    x, y = make_data(cfg["n"], mix, source_teacher, 1)
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for _ in range(cfg["epochs"]):
        loss = run_epoch(model, opt, x, y)
    print(f"source: loss {loss:.4f} acc {accuracy(model, x, y):.3f}")

    model.replace_head(4)
    test = make_data(2000, mix, target_teacher, 99)
    for stage_name, stage in CONFIG["stages"].items():
        process_components(model, stage)
        x, y = make_data(stage["n"], mix, target_teacher, 2)
        before = [p.detach().clone() for p in model.encoder.parameters()]
        opt = torch.optim.Adam(model.parameters(), lr=stage["lr"])
        for epoch in range(1, stage["epochs"] + 1):
            loss = run_epoch(model, opt, x, y, bs=20)
            if epoch % 20 == 0:
                drift = sum((p - b).abs().sum().item() for p, b in zip(model.encoder.parameters(), before))
                print(f"{stage_name}: epoch {epoch} loss {loss:.4f} train acc {accuracy(model, x, y):.3f} "
                      f"test acc {accuracy(model, *test):.3f} encoder drift {drift:.2f}")


if __name__ == "__main__":
    main()
