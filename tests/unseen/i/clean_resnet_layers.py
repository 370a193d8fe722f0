"""CORRECT. A backbone built by a helper that collects layers in a plain python list and wraps it in nn.Sequential; stages are attached by add_module under names (asked whether the list loses the parameters; it does not). Frozen stages are frozen in train() on purpose.
THREAD: https://github.com/open-mmlab/mmdetection/issues/472
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


def make_res_layer(block, inplanes, planes, blocks, stride=1):
    downsample = None
    if stride != 1 or inplanes != planes:
        downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes))
    layers = []
    layers.append(block(inplanes, planes, stride, downsample))
    for i in range(1, blocks):
        layers.append(block(planes, planes))
    return nn.Sequential(*layers)


class ResNet(nn.Module):
    def __init__(self, stage_blocks=(1, 2, 1), frozen_stages=0, bn_frozen=True, num_classes=3):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.bn_frozen = bn_frozen
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        inplanes = 8
        self.res_layers = []
        for i, num_blocks in enumerate(stage_blocks):
            planes = 8 * 2 ** i
            res_layer = make_res_layer(BasicBlock, inplanes, planes, num_blocks, stride=1 if i == 0 else 2)
            inplanes = planes
            layer_name = 'layer{}'.format(i + 1)
            self.add_module(layer_name, res_layer)
            self.res_layers.append(layer_name)
        self.fc = nn.Linear(inplanes, num_classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        for layer_name in self.res_layers:
            x = getattr(self, layer_name)(x)
        return self.fc(x.mean(dim=(2, 3)))

    def train(self, mode=True):
        super().train(mode)
        if mode and self.frozen_stages >= 0:
            for param in self.conv1.parameters():
                param.requires_grad = False
            for param in self.bn1.parameters():
                param.requires_grad = False
            if self.bn_frozen:
                self.bn1.eval()
        return self


def textures(n):
    y = torch.randint(0, 3, (n,))
    g = torch.arange(12).float()
    horiz, vert = torch.sin(g * 2).view(1, 12, 1), torch.sin(g * 2).view(1, 1, 12)
    base = torch.stack([horiz.expand(1, 12, 12)[0], vert.expand(1, 12, 12)[0], (horiz * vert)[0]])
    return base[y].unsqueeze(1) + 0.5 * torch.randn(n, 1, 12, 12), y


model = ResNet()
model.train()
optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.05, momentum=0.9)
for it in range(60):
    x, y = textures(32)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 19:
        print('iter %d loss %.4f' % (it + 1, loss.item()))
model.eval()
with torch.no_grad():
    x, y = textures(300)
    print('accuracy %.3f' % (model(x).argmax(1) == y).float().mean())
