"""What the user sees: after restarting from the saved checkpoint the loss first jumps up and needs a long time to come
back, although model and optimizer are in the checkpoint.

TRUTH: build_optim loads the optimizer state, and then set_parameters creates an entirely new Adam which erases it (moments
and the decayed learning rate). Fix: set the parameters first and load the state dict afterwards.
THREAD: https://github.com/OpenNMT/OpenNMT-py/issues/617 "Bug in loading optimizer: optimizer constructor erases state"
"""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


class Optim(object):
    def __init__(self, lr, max_grad_norm, beta2=0.98, decay=0.5):
        self.lr = lr
        self.max_grad_norm = max_grad_norm
        self.beta2 = beta2
        self.decay = decay
        self.optimizer = None

    def set_parameters(self, params):
        self.params = [p for _, p in params if p.requires_grad]
        self.optimizer = torch.optim.Adam(self.params, lr=self.lr, betas=(0.9, self.beta2), eps=1e-9)

    def update_learning_rate(self):
        for group in self.optimizer.param_groups:
            group['lr'] *= self.decay

    def step(self):
        if self.max_grad_norm:
            nn.utils.clip_grad_norm_(self.params, self.max_grad_norm)
        self.optimizer.step()


class NMTModel(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.src = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.tgt = nn.Embedding(vocab, dim)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        _, h = self.encoder(self.src(src))
        out, _ = self.decoder(self.tgt(tgt), h)
        return self.generator(out)


def build_model(checkpoint=None):
    model = NMTModel()
    if checkpoint is not None:
        print('Loading model parameters.')
        model.load_state_dict(checkpoint['model'])
    return model


def build_optim(model, checkpoint=None):
    optim = Optim(lr=0.02, max_grad_norm=5)
    if checkpoint is not None:
        print('Loading optimizer from checkpoint.')
        optim.set_parameters(model.named_parameters())
        optim.optimizer.load_state_dict(checkpoint['optim'])
    optim.set_parameters(model.named_parameters())  # CULPRIT
    return optim


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        src = torch.randint(2, 20, (32, 5), generator=g)
        out = (src.flip(1) + 3) % 18 + 2
        yield src, torch.cat([torch.ones(32, 1, dtype=torch.long), out[:, :-1]], 1), out


def train_model(model, optim, start, end):
    for epoch in range(start, end):
        total = []
        for src, tgt, gold in batches(40, epoch):
            loss = F.cross_entropy(model(src, tgt).flatten(0, 1), gold.flatten())
            optim.optimizer.zero_grad()
            loss.backward()
            optim.step()
            total.append(loss.item())
        print('epoch %2d first batches %.4f mean %.4f lr %.5f' % (
            epoch, sum(total[5:15]) / 10, sum(total) / len(total), optim.optimizer.param_groups[0]['lr']))
        optim.update_learning_rate() if epoch >= 3 else None


def main():
    torch.manual_seed(0)
    model = build_model()
    optim = build_optim(model)
    train_model(model, optim, 0, 8)
    buf = io.BytesIO()
    torch.save({'model': model.state_dict(), 'optim': optim.optimizer.state_dict()}, buf)
    buf.seek(0)

    checkpoint = torch.load(buf)
    model = build_model(checkpoint)
    optim = build_optim(model, checkpoint)
    train_model(model, optim, 8, 11)


if __name__ == '__main__':
    main()
