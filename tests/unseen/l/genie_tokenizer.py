"""WRONG. The perceptual loss is added to the tokenizer's loss and is large, but training with and without it gives exactly the same result.
TRUTH: RecordingProbe stores `output.detach()`, so the recorded features of the reconstruction carry no gradient. Store the output itself (the target branch may be taken without grad).
THREAD: https://github.com/myscience/open-genie/issues/6
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RecordingProbe:
    """Keeps the outputs of the hooked layers under their names."""

    def __init__(self):
        self.features = {}

    def __call__(self, name):
        def hook(module, inp, out):
            self.features[name] = out.detach()  # CULPRIT
        return hook

    def pop(self):
        feats, self.features = self.features, {}
        return feats


class FeatureNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU())
        self.block3 = nn.Sequential(nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, x):
        return self.block3(self.block2(self.block1(x)))


class PerceptualLoss(nn.Module):
    def __init__(self, net, layers=("block1", "block2", "block3"), weights=(1.0, 0.5, 0.25)):
        super().__init__()
        self.net = net.eval().requires_grad_(False)
        self.weights = dict(zip(layers, weights))
        self.probe = RecordingProbe()
        for name in layers:
            self.net.get_submodule(name).register_forward_hook(self.probe(name))

    def forward(self, rec, inp):
        self.net(rec)
        fake_feat = self.probe.pop()
        with torch.no_grad():
            self.net(inp)
        real_feat = self.probe.pop()
        return sum(w * F.mse_loss(fake_feat[n], real_feat[n]) for n, w in self.weights.items())


class VideoTokenizer(nn.Module):
    def __init__(self, hidden=12, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, hidden, 4, 2, 1), nn.GELU(), nn.Conv2d(hidden, latent, 3, 1, 1))
        self.dec = nn.Sequential(nn.Conv2d(latent, hidden, 3, 1, 1), nn.GELU(), nn.ConvTranspose2d(hidden, 3, 4, 2, 1))

    def forward(self, video):
        b, c, t, h, w = video.shape
        frames = video.transpose(1, 2).reshape(b * t, c, h, w)
        z = self.enc(frames)
        rec = self.dec(z)
        return rec, frames, z


def moving_bars(n, t=3, size=16):
    x = torch.arange(size).float()
    phase = torch.rand(n, 1, 1) * 6 + torch.arange(t).view(1, t, 1) * 0.5
    row = torch.sin(0.8 * x.view(1, 1, -1) + phase)
    frame = row[:, None, :, None, :].expand(n, 3, t, size, size)
    return frame * torch.rand(n, 3, 1, 1, 1) + 0.05 * torch.randn(n, 3, t, size, size)


def run(perc_weight, steps=50):
    torch.manual_seed(1)
    perceptual = PerceptualLoss(FeatureNet())
    torch.manual_seed(2)
    model = VideoTokenizer()
    optim = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=steps, eta_min=1e-3)
    log = []
    for step in range(steps):
        rec, frames, z = model(moving_bars(8))
        rec_loss = F.mse_loss(rec, frames)
        lat_loss = z.pow(2).mean()
        perc_loss = perceptual(rec, frames)
        loss = rec_loss + 1e-3 * lat_loss + perc_weight * perc_loss
        optim.zero_grad()
        loss.backward()
        optim.step()
        sched.step()
        log.append((rec_loss.item(), perc_loss.item()))
    return model, log


if __name__ == "__main__":
    plain, log_plain = run(0.0)
    perc, log_perc = run(10.0)
    for name, log in (("without", log_plain), ("with", log_perc)):
        print("%-8s first rec %.4f perc %.4f | last rec %.6f perc %.6f" % ((name,) + log[0] + log[-1]))
    diff = max((a - b).abs().max().item() for a, b in zip(plain.parameters(), perc.parameters()))
    print("largest weight difference between the two runs:", diff)
