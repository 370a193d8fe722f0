"""WRONG. Supervised contrastive training on intents: after the first batches the loss is nan and all embeddings are nan afterwards.
TRUTH: an anchor whose class occurs once in the batch has no positive, mask.sum(1) is 0 and mean_log_prob_pos becomes 0/0; guard the denominator (anchors without positives count as zero).
THREAD: https://github.com/HobbitLong/SupContrast/pull/142
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

opt = dict(n_intents=6, vocab=80, dim=24, feat=12, temp=0.2, batch_size=24, epochs=6, lr=5e-3)


class SupConLoss(nn.Module):
    """features: [bsz, n_views, f_dim], labels: [bsz]"""

    def __init__(self, temperature=0.07, base_temperature=0.07):
        super().__init__()
        self.temperature = temperature
        self.base_temperature = base_temperature

    def forward(self, features, labels):
        batch_size = features.shape[0]
        labels = labels.contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
        contrast_count = features.shape[1]
        contrast_feature = torch.cat(torch.unbind(features, dim=1), dim=0)
        anchor_feature, anchor_count = contrast_feature, contrast_count

        anchor_dot_contrast = torch.div(torch.matmul(anchor_feature, contrast_feature.T), self.temperature)
        logits_max, _ = torch.max(anchor_dot_contrast, dim=1, keepdim=True)
        logits = anchor_dot_contrast - logits_max.detach()

        mask = mask.repeat(anchor_count, contrast_count)
        logits_mask = torch.scatter(
            torch.ones_like(mask), 1, torch.arange(batch_size * anchor_count).view(-1, 1), 0)
        mask = mask * logits_mask

        exp_logits = torch.exp(logits) * logits_mask
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)  # CULPRIT

        loss = -(self.temperature / self.base_temperature) * mean_log_prob_pos
        return loss.view(anchor_count, batch_size).mean()


class IntentEncoder(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.emb = nn.EmbeddingBag(opt["vocab"], opt["dim"], mode="mean")
        self.head = nn.Sequential(nn.Linear(opt["dim"], opt["dim"]), nn.ReLU(), nn.Linear(opt["dim"], opt["feat"]))

    def forward(self, tokens):
        return F.normalize(self.head(self.emb(tokens)), dim=1)


def make_dataset(opt, n=240):
    # the last intent is a rare one
    weights = torch.tensor([1.0] * (opt["n_intents"] - 1) + [0.25])
    y = torch.multinomial(weights, n, replacement=True)
    keywords = y.unsqueeze(1) * 10 + torch.randint(0, 10, (n, 3))
    filler = torch.randint(60, opt["vocab"], (n, 5))
    return TensorDataset(torch.cat([keywords, filler], dim=1), y)


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


@torch.no_grad()
def knn_accuracy(model, dataset):
    model.eval()
    x, y = dataset.tensors
    z = model(x)
    sim = z @ z.t()
    sim.fill_diagonal_(-2)
    acc = (y[sim.argmax(1)] == y).float().mean().item()
    model.train()
    return acc


def main():
    dataset = make_dataset(opt)
    loader = DataLoader(dataset, batch_size=opt["batch_size"], shuffle=True)
    model = IntentEncoder(opt)
    criterion = SupConLoss(temperature=opt["temp"])
    optimizer = torch.optim.Adam(model.parameters(), lr=opt["lr"], weight_decay=1e-4)
    for epoch in range(opt["epochs"]):
        losses = AverageMeter()
        for tokens, labels in loader:
            features = model(tokens).unsqueeze(1)
            loss = criterion(features, labels)
            losses.update(loss.item(), labels.size(0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {losses.avg:.4f} knn {knn_accuracy(model, dataset):.3f}")


if __name__ == "__main__":
    main()
