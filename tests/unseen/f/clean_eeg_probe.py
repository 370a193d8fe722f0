"""CORRECT. Linear probing of a pretrained backbone between two trained modules: the backbone keeps requires_grad=True (the
gradient must pass to chan_conv) and is in eval mode, but it is in no optimizer, so its weights never change; its unused
gradients are cleared with model.zero_grad().
THREAD: https://github.com/BINE022/EEGPT/issues/18 "Backbone not frozen when evaluating linear probing"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, chans=8, dim=24):
        super().__init__()
        self.patch = nn.Conv1d(chans, dim, 8, stride=8)
        layer = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        return self.blocks(self.patch(x).transpose(1, 2))


class LinearProbe(nn.Module):
    def __init__(self, pretrained, in_chans=12, n_class=3):
        super().__init__()
        self.chan_conv = nn.Conv1d(in_chans, 8, 1)
        self.target_encoder = pretrained
        self.linear_probe1 = nn.Linear(24, 8)
        self.linear_probe2 = nn.Linear(8 * 6, n_class)
        self.drop = nn.Dropout(0.2)

    def train(self, mode=True):
        super().train(mode)
        self.target_encoder.eval()
        return self

    def forward(self, x):
        z = self.target_encoder(self.chan_conv(x))
        h = self.linear_probe1(self.drop(z)).flatten(1)
        return self.linear_probe2(h)

    def configure_optimizers(self):
        return torch.optim.AdamW(
            list(self.chan_conv.parameters()) +
            list(self.linear_probe1.parameters()) +
            list(self.linear_probe2.parameters()),
            lr=4e-3, weight_decay=0.01)


def signals(n, chans, n_class=3):
    t = torch.arange(48) / 48 * 6.2832
    y = torch.randint(0, n_class, (n,))
    f = torch.tensor([2., 4., 7.])[y]
    wave = torch.sin(f.unsqueeze(1) * t + torch.rand(n, 1) * 6.28)
    mix = torch.randn(chans, generator=torch.Generator().manual_seed(chans))
    return wave.unsqueeze(1) * mix.view(1, -1, 1) + 0.7 * torch.randn(n, chans, 48), y


def pretrain(backbone, steps=60):
    head = nn.Linear(24, 3)
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(steps):
        x, y = signals(64, 8)
        loss = F.cross_entropy(head(backbone(x).mean(1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print('pretraining loss %.3f' % loss.item())
    return backbone


def main():
    torch.manual_seed(0)
    model = LinearProbe(pretrain(Backbone()))
    before = [p.detach().clone() for p in model.target_encoder.parameters()]
    optimizer = model.configure_optimizers()
    model.train()
    running = []
    for it in range(1, 201):
        x, y = signals(64, 12)
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        running.append(loss.item())
        if it % 40 == 0:
            print('iter %d loss %.4f' % (it, sum(running[-40:]) / 40))
    same = all(torch.equal(a, b) for a, b in zip(before, model.target_encoder.parameters()))
    print('backbone unchanged:', same)


main()
