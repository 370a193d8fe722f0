"""Trains a recurrent first-arrival picker for seismic traces in a trainer module, saves it and loads it for a new site.

TRUTH: the checkpoint is the state dict of PickerModule, so all its keys begin with "model."; load_picker puts it into a
bare PickerNet with strict=False, no key fits, nothing is loaded and nothing is said. The "pretrained" picker is a random
network: its error before tuning is that of guessing, and tuning the small head on top of a frozen random encoder goes
nowhere. Fix: strip the prefix from the keys and load with strict=True. Drawn from pytorch/examples#1029.
"""
import argparse
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F

SAMPLES = 40


def traces(n, seed, noise=0.25):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(SAMPLES)[None].float()
    arrival = torch.randint(6, SAMPLES - 8, (n, 1), generator=g).float()
    freq = 0.8 + 0.4 * torch.rand(n, 1, generator=g)
    wave = torch.sin(freq * (t - arrival)) * torch.exp(-(t - arrival) / 10)
    x = torch.where(t >= arrival, wave, torch.zeros(())) + noise * torch.randn(n, SAMPLES, generator=g)
    return x[..., None], arrival.squeeze(1).long()


class PickerNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.encoder = nn.GRU(1, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, 1)

    def forward(self, x):
        return self.head(self.encoder(x)[0]).squeeze(-1)


class PickerModule(nn.Module):
    """Bundles the network with its loss, optimiser and metric."""

    def __init__(self, model, lr):
        super().__init__()
        self.model = model
        self.lr = lr

    def configure(self, steps):
        opt = torch.optim.Adam([p for p in self.parameters() if p.requires_grad], lr=self.lr)
        return opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)

    def training_step(self, x, y):
        return F.cross_entropy(self.model(x), y)

    @torch.no_grad()
    def pick_error(self, x, y):
        self.eval()
        err = (self.model(x).argmax(1) - y).abs().float().mean().item()
        self.train()
        return err


def fit(module, data, epochs, batch=64, tag=""):
    x, y = data
    opt, sched = module.configure(epochs * -(-len(x) // batch))
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            loss = module.training_step(x[idx], y[idx])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            opt.step()
            sched.step()
            total += loss.item() * len(idx)
        print(f"  {tag} epoch {epoch} loss {total / len(x):.3f}")


def save_checkpoint(module, path, epoch):
    torch.save({"epoch": epoch, "state_dict": module.state_dict()}, path)


def load_picker(path):
    net = PickerNet()
    ckpt = torch.load(path)
    net.load_state_dict(ckpt["state_dict"], strict=False)  # CULPRIT
    print(f"loaded {os.path.basename(path)} of epoch {ckpt['epoch']}")
    return net


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=8e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    valley, hill = traces(1200, 1), traces(150, 2, noise=0.3)
    valley_test, hill_test = traces(300, 3), traces(300, 4, noise=0.3)
    module = PickerModule(PickerNet(), args.lr)
    fit(module, valley, args.epochs, tag="valley")
    print(f"valley pick error {module.pick_error(*valley_test):.2f} samples")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picker.pt")
        save_checkpoint(module, path, args.epochs)
        net = load_picker(path)
    tuned = PickerModule(net, lr=5e-3)
    print(f"hill pick error before tuning {tuned.pick_error(*hill_test):.2f}, valley {tuned.pick_error(*valley_test):.2f}")
    net.encoder.requires_grad_(False)
    fit(tuned, hill, 3, batch=32, tag="hill")
    print(f"hill pick error after tuning {tuned.pick_error(*hill_test):.2f}")


if __name__ == "__main__":
    main()
