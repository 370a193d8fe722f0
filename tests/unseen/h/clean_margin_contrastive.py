"""CORRECT. The same-class mask minus its own diagonal in a margin-based contrastive loss (asked: is it always zero? no, only where all labels differ).
THREAD: https://github.com/wzhouad/Contra-OOD/issues/5
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

VOCAB, N_CLASS, SEQ = 40, 4, 12


class RobertaClassificationHead(nn.Module):
    def __init__(self, hidden, num_labels):
        super().__init__()
        self.dense = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(0.1)
        self.out_proj = nn.Linear(hidden, num_labels)

    def forward(self, features):
        x = torch.tanh(self.dense(self.dropout(features)))
        return x, self.out_proj(x)


class ContraClassifier(nn.Module):
    def __init__(self, hidden=32, alpha=2.0):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, hidden)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.classifier = RobertaClassificationHead(hidden, N_CLASS)
        self.alpha = alpha

    def forward(self, input_ids, labels=None):
        _, h = self.encoder(self.embed(input_ids))
        pooled, logits = self.classifier(h[-1])
        if labels is None:
            return logits, pooled
        loss = F.cross_entropy(logits, labels)
        return loss, self.alpha * self.margin_loss(pooled, labels)

    def margin_loss(self, pooled, labels):
        dist = ((pooled.unsqueeze(1) - pooled.unsqueeze(0)) ** 2).mean(-1)
        mask = (labels.unsqueeze(1) == labels.unsqueeze(0)).float()
        mask = mask - torch.diag(torch.diag(mask))
        neg_mask = (labels.unsqueeze(1) != labels.unsqueeze(0)).float()
        max_dist = (dist * mask).max()
        cos_loss = (dist * mask).sum(-1) / (mask.sum(-1) + 1e-3) \
            + (F.relu(max_dist - dist) * neg_mask).sum(-1) / (neg_mask.sum(-1) + 1e-3)
        return cos_loss.mean()


def sentences(n):
    labels = torch.randint(0, N_CLASS, (n,))
    ids = torch.randint(N_CLASS * 2, VOCAB, (n, SEQ))
    hint = labels.unsqueeze(1) * 2 + torch.randint(0, 2, (n, 3))
    where = torch.stack([torch.randperm(SEQ)[:3] for _ in range(n)])
    return ids.scatter(1, where, hint), labels


def train():
    model = ContraClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    num_steps = 240
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / 20) * max(0.0, 1 - s / num_steps))
    test_ids, test_labels = sentences(500)
    for step in range(1, num_steps + 1):
        model.train()
        loss, cos_loss = model(*sentences(32))
        (loss + cos_loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        model.zero_grad()
        if step % 60 == 0:
            model.eval()
            with torch.no_grad():
                logits, _ = model(test_ids)
            acc = (logits.argmax(1) == test_labels).float().mean().item()
            print('step %d loss %.3f cos_loss %.3f acc %.3f' % (step, loss.item(), cos_loss.item(), acc))


if __name__ == '__main__':
    train()
