"""WRONG. The memory of the process rises with every step until it is killed. The features that I keep for the nearest
neighbour report are tiny (32 floats a sample), and I use loss.item() everywhere.
TRUTH: the recorder keeps the feature tensors of the extra forward pass with their graph (never freed by a backward), and so
all activations since the start. `self.feats.append(feats.detach())`, or the snapshot under torch.no_grad().
THREAD: https://discuss.pytorch.org/t/gpu-memory-increase-while-i-wanna-to-backward-with-accumulative-loss/43284
"""
import resource

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EmbeddingNet(nn.Module):
    def __init__(self, width=12, dim=32, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.embed = nn.Linear(width * 16, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, 4).flatten(1)
        feats = self.embed(x)
        return self.head(F.relu(feats)), feats


class FeatureRecorder:
    """collects embeddings and labels over the whole run, for plots and the knn report"""

    def __init__(self):
        self.feats = []
        self.labels = []

    def add(self, feats, labels):
        self.feats.append(feats)  # CULPRIT
        self.labels.append(labels)

    def __len__(self):
        return sum(len(f) for f in self.feats)

    @torch.no_grad()
    def knn_accuracy(self, feats, labels, k=5, last=4):
        bank = F.normalize(torch.cat(self.feats[-last:]), dim=1)
        bank_labels = torch.cat(self.labels[-last:])
        sim = F.normalize(feats, dim=1) @ bank.t()
        near = bank_labels[sim.topk(k, dim=1).indices]
        return (near.mode(dim=1).values == labels).float().mean().item()


def center_term(feats, labels, classes=4):
    loss = feats.new_zeros(())
    for c in range(classes):
        group = feats[labels == c]
        if len(group) > 1:
            loss = loss + (group - group.mean(0)).pow(2).sum(1).mean()
    return loss / classes


def snapshot(net, x):
    net.eval()
    _, feats = net(x)  # CULPRIT
    net.train()
    return feats


def make_batch(n):
    y = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 1, 24, 24)
    for c, (r, s) in enumerate([(0, 0), (0, 12), (12, 0), (12, 12)]):
        x[y == c, :, r:r + 12, s:s + 12] += 0.6
    return x, y


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    net = EmbeddingNet()
    recorder = FeatureRecorder()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    val_x, val_y = make_batch(64)
    running, start = 0.0, None
    for step in range(50):
        net.train()
        x, y = make_batch(48)
        out, feats = net(x + 0.1 * torch.randn_like(x))
        loss = F.cross_entropy(out, y) + 0.01 * center_term(feats, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        recorder.add(snapshot(net, x), y)

        if step % 10 == 9:
            net.eval()
            with torch.no_grad():
                out, feats = net(val_x)
            acc = (out.argmax(1) == val_y).float().mean().item()
            start = start or peak_mb()
            print('step %d loss %.3f acc %.2f knn %.2f | %d features kept, memory +%.0f MB' % (
                step + 1, running / 10, acc, recorder.knn_accuracy(feats, val_y), len(recorder), peak_mb() - start))
            running = 0.0


if __name__ == '__main__':
    main()
