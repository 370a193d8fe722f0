"""WRONG. Model parameters cannot be made trainable again once they became requires_grad=False, the fine-tuning stage leaves the encoder as it is.
TRUTH: set_trainable only touches parameters that require grad at the moment (`if p.requires_grad`), so after a freeze nothing is unfrozen; the condition has to be removed.
THREAD: https://github.com/nttcslab/byol-a/issues/7
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_MELS, FRAMES, N_CLASS = 16, 24, 6


class NetworkCommonMixIn:
    def set_trainable(self, trainable=False):
        for p in self.parameters():
            if p.requires_grad:  # CULPRIT
                p.requires_grad = trainable


class AudioNTT2020Task6(nn.Module, NetworkCommonMixIn):
    def __init__(self, n_mels, d):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=1, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2, stride=2),
            nn.Conv2d(16, 16, 3, stride=1, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(16 * (n_mels // 4), d), nn.ReLU())

    def forward(self, x):
        x = self.features(x)
        x = x.permute(0, 3, 2, 1)
        B, T, D, C = x.shape
        x = self.fc(x.reshape(B, T, C * D))
        return x.max(1)[0] + x.mean(1)


class TaskNetwork(nn.Module):
    def __init__(self, backbone, d, n_class):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(d, n_class)

    def forward(self, x):
        return self.head(self.backbone(x))


def log_mel(n, seed=None):
    """chirps of six kinds in noise"""
    y = torch.randint(0, N_CLASS, (n,))
    t = torch.arange(FRAMES).float()
    start = torch.rand(n, 1) * 6
    slope = torch.tensor([0.0, 0.2, 0.4, -0.2, -0.4, 0.0])[y].unsqueeze(1)
    center = 5 + start + slope * (t - FRAMES / 2)
    center = center + torch.where(y == 5, 2.0, 0.0).unsqueeze(1) * torch.sin(t)
    m = torch.arange(N_MELS).float()
    x = torch.exp(-(m[None, :, None] - center[:, None]) ** 2)
    return (2 * x + 0.6 * torch.randn_like(x)).unsqueeze(1), y


train_x, train_y = log_mel(480)
valid_x, valid_y = log_mel(400)


def run_stage(model, params, lr, epochs, tag):
    optimizer = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        model.train()
        perm = torch.randperm(len(train_y))
        total = 0.0
        for i in range(0, len(perm), 48):
            j = perm[i:i + 48]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(train_x[j]), train_y[j])
            loss.backward()
            optimizer.step()
            total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(valid_x).argmax(1) == valid_y).float().mean().item()
    print('%s: loss %.3f valid acc %.3f' % (tag, total / 10, acc))


backbone = AudioNTT2020Task6(N_MELS, 64)
model = TaskNetwork(backbone, 64, N_CLASS)

# stage 1: linear head on the frozen embedding
backbone.set_trainable(False)
run_stage(model, model.head.parameters(), 5e-3, 8, 'linear evaluation')

# stage 2: fine-tune everything
backbone.set_trainable(True)
run_stage(model, model.parameters(), 1e-3, 12, 'fine-tuning')
