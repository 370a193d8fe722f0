"""RIGHT. Contrastive learning with a momentum encoder and a queue that is overwritten in place between the forward and the backward of the same step.
TRUTH: the logits are made from queue.clone(), so the in-place write does not touch anything that backward needs; the keys are computed under no_grad, the key encoder is moved only by the momentum update, and it keeps its own BatchNorm statistics because it runs in train mode itself.
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CFG = dict(dim=20, feature=16, queue=256, batch=32, momentum=0.95, temperature=0.2, lr=0.05, steps=60)


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg["dim"], 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, cfg["feature"]),
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MoCo(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.encoder_q = Encoder(cfg)
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(cfg["feature"], cfg["queue"]), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        m = self.cfg["momentum"]
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(m).add_(q, alpha=1 - m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.ptr)
        assert self.cfg["queue"] % keys.size(0) == 0
        self.queue[:, ptr:ptr + keys.size(0)] = keys.T
        self.ptr[0] = (ptr + keys.size(0)) % self.cfg["queue"]

    def forward(self, view_q, view_k):
        q = self.encoder_q(view_q)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = self.encoder_k(view_k)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone()
        logits = torch.cat([positive, negative], dim=1) / self.cfg["temperature"]
        labels = torch.zeros(len(q), dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


class Views:
    """Samples of hidden classes; a view is a noisy copy of a sample."""

    def __init__(self, cfg, classes=8):
        self.centers = 1.5 * torch.randn(classes, cfg["dim"])

    def sample(self, n):
        y = torch.randint(0, len(self.centers), (n,))
        return self.centers[y] + 0.8 * torch.randn(n, self.centers.size(1)), y

    def augment(self, x):
        keep = (torch.rand_like(x) > 0.2).to(x.dtype)
        return x * keep + 0.3 * torch.randn_like(x)


@torch.no_grad()
def knn_accuracy(model, views, k=5):
    model.eval()
    bank_x, bank_y = views.sample(400)
    test_x, test_y = views.sample(200)
    similarity = model.encoder_q(test_x) @ model.encoder_q(bank_x).T
    votes = bank_y[similarity.topk(k, dim=1).indices]
    model.train()
    return (votes.mode(dim=1).values == test_y).float().mean().item()


def main():
    views = Views(CFG)
    model = MoCo(CFG)
    model.train()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=CFG["lr"], momentum=0.9, weight_decay=1e-4)
    print(f"knn accuracy before {knn_accuracy(model, views):.3f}")
    for step in range(CFG["steps"]):
        x, _ = views.sample(CFG["batch"])
        logits, labels = model(views.augment(x), views.augment(x))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 14:
            rank = (logits[:, 1:] > logits[:, :1]).float().sum(1).mean().item()
            print(f"step {step} loss {loss.item():.4f} negatives above the positive {rank:.1f}")
    print(f"knn accuracy after {knn_accuracy(model, views):.3f}")


if __name__ == "__main__":
    main()
