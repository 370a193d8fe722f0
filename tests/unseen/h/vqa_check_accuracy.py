"""WRONG. After the first periodic accuracy check the rest of the training behaves differently (dropout and batchnorm are off).
TRUTH: check_accuracy() sets the models into eval mode and never back into train mode, so all later iterations train in eval mode; set the mode back to 'train' after the check.
THREAD: https://github.com/facebookresearch/clevr-iep/pull/22
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

NUM_ANSWERS = 5


class Stem(nn.Module):
    def __init__(self, in_dim, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_dim, dim), nn.BatchNorm1d(dim), nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(dim, dim), nn.BatchNorm1d(dim), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class ExecutionEngine(nn.Module):
    def __init__(self, feat_dim=30, dim=64):
        super().__init__()
        self.stem = Stem(feat_dim, dim)
        self.program = nn.Embedding(4, dim)
        self.classifier = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(0.5),
                                        nn.Linear(dim, NUM_ANSWERS))

    def forward(self, feats, program):
        return self.classifier(self.stem(feats) * torch.sigmoid(self.program(program)))


def set_mode(mode, models):
    for m in models:
        if m is None:
            continue
        if mode == 'train':
            m.train()
        if mode == 'eval':
            m.eval()


class ClevrData:
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        teacher = torch.Generator().manual_seed(99)
        w = torch.randn(4, 30, NUM_ANSWERS, generator=teacher)
        self.feats = torch.randn(n, 30, generator=g) * 3 + 5
        self.program = torch.randint(0, 4, (n,), generator=g)
        centred = self.feats - 5
        logits = torch.einsum('nf,nfa->na', centred, w[self.program])
        logits = logits + 6 * torch.randn(n, NUM_ANSWERS, generator=g)
        self.answers = logits.argmax(1)

    def batches(self, bs, shuffle):
        idx = torch.randperm(len(self.answers)) if shuffle else torch.arange(len(self.answers))
        for i in range(0, len(idx) - bs + 1, bs):
            j = idx[i:i + bs]
            yield self.feats[j], self.program[j], self.answers[j]


def check_accuracy(model, data, batch_size, max_samples=None):
    set_mode('eval', [model])  # CULPRIT
    num_correct, num_samples = 0, 0
    with torch.no_grad():
        for feats, program, answers in data.batches(batch_size, shuffle=False):
            scores = model(feats, program)
            num_correct += (scores.argmax(1) == answers).sum().item()
            num_samples += len(answers)
            if max_samples is not None and num_samples >= max_samples:
                break
    return num_correct / num_samples


def train_loop(num_iterations=900, checkpoint_every=150, batch_size=32):
    train_data, val_data = ClevrData(400, 1), ClevrData(800, 2)
    model = ExecutionEngine()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    stats = {'train_losses': [], 'val_accs': [], 'best_val_acc': -1}

    set_mode('train', [model])
    t = 0
    while t < num_iterations:
        for feats, program, answers in train_data.batches(batch_size, shuffle=True):
            t += 1
            optimizer.zero_grad()
            scores = model(feats, program)
            loss = loss_fn(scores, answers)
            loss.backward()
            optimizer.step()
            stats['train_losses'].append(loss.item())

            if t % checkpoint_every == 0:
                train_acc = check_accuracy(model, train_data, batch_size, max_samples=320)
                val_acc = check_accuracy(model, val_data, batch_size)
                stats['val_accs'].append(val_acc)
                stats['best_val_acc'] = max(stats['best_val_acc'], val_acc)
                print('%d loss %.3f train %.3f val %.3f' % (t, loss.item(), train_acc, val_acc))
            if t == num_iterations:
                break
    return stats


if __name__ == '__main__':
    train_loop()
