"""WRONG. Fine tuning with small batches, so I freeze BatchNorm (the running statistics and the affine parameters verifiably
do not change). During training the accuracy is high; with model.eval() it is terrible, with model.train() good again.
TRUTH: momentum = 0 only stops the update; in train mode BatchNorm still normalises with the batch statistics, in eval mode
with the old ones. To freeze it the layer has to be in eval mode while training: `m.eval()` in freeze_bn.
THREAD: https://discuss.pytorch.org/t/frozen-batch-normalization-still-shows-different-performance-in-model-train-from-model-eval/25176
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class MiniResNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.layer1 = conv_bn(1, 8)
        self.layer2 = conv_bn(8, 16, stride=2)
        self.layer3 = conv_bn(16, 16)
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        x = x + self.layer3(x)
        return self.classifier(x.mean((2, 3)))


def make_images(n, gain=1.0, offset=0.0):
    """horizontal / vertical / checker stripes; gain and offset are those of the camera"""
    y = torch.randint(0, 3, (n,))
    g = torch.arange(12)
    rows = (g % 2).float().view(12, 1).expand(12, 12)
    patterns = torch.stack([rows, rows.t(), ((g.view(-1, 1) + g) % 2).float()])
    x = patterns[y] + 0.4 * torch.randn(n, 12, 12)
    return (gain * x + offset).unsqueeze(1), y


def freeze_bn(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 0.0  # CULPRIT
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)


def bn_state(model):
    return torch.cat([
        torch.cat([m.running_mean, m.running_var, m.weight.detach(), m.bias.detach()])
        for m in model.modules() if isinstance(m, nn.BatchNorm2d)
    ])


def train_epoch(model, optimizer, x, y, batch_size, freeze=False):
    model.train()
    if freeze:
        freeze_bn(model)
    total, right = 0.0, 0
    for idx in torch.randperm(len(x)).split(batch_size):
        optimizer.zero_grad()
        out = model(x[idx])
        loss = F.cross_entropy(out, y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
        right += (out.argmax(1) == y[idx]).sum().item()
    return total / len(x), right / len(x)


@torch.no_grad()
def test(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    model = MiniResNet()
    xa, ya = make_images(256)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(5):
        train_epoch(model, opt, xa, ya, 32)
    print('source camera, test: %.3f' % test(model, *make_images(200)))

    camera = dict(gain=0.25, offset=1.5)
    xb, yb = make_images(96, **camera)
    xt, yt = make_images(200, **camera)
    before = bn_state(model).clone()
    params = [
        {'params': [p for n, p in model.named_parameters() if n.startswith('layer')], 'lr': 2e-3},
        {'params': model.classifier.parameters(), 'lr': 1e-2},
    ]
    opt = torch.optim.Adam(params)
    for epoch in range(10):
        loss, acc = train_epoch(model, opt, xb, yb, 6, freeze=True)
        if epoch % 3 == 0:
            print('epoch %d loss %.3f train acc %.3f test acc %.3f' % (epoch, loss, acc, test(model, xt, yt)))
    print('largest change of a BN entry: %.1e' % (bn_state(model) - before).abs().max())
    print('new camera, test: %.3f' % test(model, xt, yt))


if __name__ == '__main__':
    main()
