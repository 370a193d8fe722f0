"""WRONG. The guided attention network fails in its Grad-CAM backward with a shape error: the given gradient is [.., ..] where the output is a scalar.
TRUTH: grad_logits is the sum (a scalar) while gradient has the shape of the logits; either pass no such gradient (grad_logits.backward(retain_graph=True)) or do not take the sum.
THREAD: https://github.com/ngxbac/GAIN/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, n_classes)

    def features(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.relu(self.conv2(x))

    def classify(self, f):
        return self.fc(f.mean(dim=(2, 3)))


class GAIN(nn.Module):
    def __init__(self, num_classes=3, sigma=0.5, omega=10):
        super().__init__()
        self.model = Backbone(num_classes)
        self.num_classes = num_classes
        self.sigma, self.omega = sigma, omega
        self.feed_forward_features = None
        self.backward_features = None

    def to_ohe(self, labels):
        return F.one_hot(labels, self.num_classes).float()

    def _forward(self, x):
        f = self.model.features(x)
        self.feed_forward_features = f
        f.register_hook(lambda g: setattr(self, 'backward_features', g))
        return self.model.classify(f)

    def forward(self, images, labels):
        logits = self._forward(images)
        labels_ohe = self.to_ohe(labels)
        gradient = logits * labels_ohe
        grad_logits = (logits * labels_ohe).sum()
        grad_logits.backward(gradient=gradient, retain_graph=True)  # CULPRIT
        self.model.zero_grad()

        fl = self.feed_forward_features
        weights = self.backward_features.detach().mean(dim=(2, 3), keepdim=True)
        Ac = F.relu((fl * weights).sum(dim=1, keepdim=True))
        Ac = F.interpolate(Ac, size=images.shape[2:], mode='bilinear', align_corners=False)
        Ac_min, Ac_max = Ac.min(), Ac.max()
        scaled_ac = (Ac - Ac_min) / (Ac_max - Ac_min + 1e-8)
        mask = torch.sigmoid(self.omega * (scaled_ac - self.sigma))
        masked_image = images - images * mask
        logits_am = self.model.classify(self.model.features(masked_image))
        return logits, logits_am


def patches(n):
    y = torch.randint(0, 3, (n,))
    x = 0.2 * torch.randn(n, 1, 12, 12)
    for i in range(n):
        r, c = torch.randint(1, 8, (2,)).tolist()
        if y[i] == 0:
            x[i, 0, r:r + 4, c:c + 1] += 2
        elif y[i] == 1:
            x[i, 0, r:r + 1, c:c + 4] += 2
        else:
            x[i, 0, r:r + 2, c:c + 2] += 2
    return x, y


gain = GAIN()
optimizer = torch.optim.Adam(gain.parameters(), lr=5e-3)
for it in range(120):
    images, labels = patches(32)
    logits, logits_am = gain(images, labels)
    loss_cl = F.cross_entropy(logits, labels)
    loss_am = F.softmax(logits_am, dim=1).gather(1, labels.unsqueeze(1)).mean()
    loss = loss_cl + 0.2 * loss_am
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        print('iter %d cl %.4f am %.4f' % (it, loss_cl.item(), loss_am.item()))
