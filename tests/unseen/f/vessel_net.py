"""What the user sees: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace
operation: [torch.FloatTensor [2, 8, 8, 8, 8]], which is output 0 of ReluBackward0, is at version 1; expected version 0.
The code of the authors ran with their old pytorch.

TRUTH: out += residual overwrites the output of the ReLU, which ReLU's backward needs. Fix: out = out + residual.
THREAD: https://github.com/iMED-Lab/ER-Net/pull/3 "replace out+=residual with out=out+residual"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ResEncoder3d(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(ResEncoder3d, self).__init__()
        self.conv1 = nn.Conv3d(in_channels, out_channels, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm3d(out_channels)
        self.conv2 = nn.Conv3d(out_channels, out_channels, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm3d(out_channels)
        self.relu = nn.ReLU(inplace=False)
        self.conv1x1 = nn.Conv3d(in_channels, out_channels, kernel_size=1)

    def forward(self, x):
        residual = self.conv1x1(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out += residual  # CULPRIT
        return out


class Decoder3d(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(Decoder3d, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv3d(in_channels, out_channels, kernel_size=3, padding=1),
            nn.BatchNorm3d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.conv(x)


class ER_Net(nn.Module):
    def __init__(self, classes, channels):
        super(ER_Net, self).__init__()
        self.enc_input = ResEncoder3d(channels, 8)
        self.encoder1 = ResEncoder3d(8, 16)
        self.downsample = nn.MaxPool3d(2)
        self.deconv1 = nn.ConvTranspose3d(16, 8, kernel_size=2, stride=2)
        self.decoder1 = Decoder3d(16, 8)
        self.final = nn.Conv3d(8, classes, kernel_size=1)

    def forward(self, x):
        enc_input = self.enc_input(x)
        enc1 = self.encoder1(self.downsample(enc_input))
        up = self.deconv1(enc1)
        dec = self.decoder1(torch.cat((enc_input, up), dim=1))
        return self.final(dec)


def vessels(n=2, s=8):
    vol = torch.zeros(n, 1, s, s, s)
    for i in range(n):
        a, b = torch.randint(1, s - 2, (2,)).tolist()
        vol[i, 0, :, a:a + 2, b:b + 2] = 1
    return vol + 0.5 * torch.randn_like(vol), vol[:, 0].long()


def train():
    torch.manual_seed(0)
    net = ER_Net(2, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=5e-4)
    critrion = nn.CrossEntropyLoss(weight=torch.tensor([1., 5.]))
    for epoch in range(60):
        image, label = vessels()
        optimizer.zero_grad()
        pred = net(image)
        loss = critrion(pred, label)
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print('epoch {} loss {:.4f}'.format(epoch, loss.item()))


if __name__ == '__main__':
    train()
