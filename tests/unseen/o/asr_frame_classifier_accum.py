"""Acoustic frame classifier (bidirectional GRU over filterbank-like features), trained with accumulated gradients.

TRUTH: With accum_grad_n_steps = 8 the loss of every mini-batch is backpropagated undivided, so the accumulated gradient is
8 times that of the effective batch. Symptom: with momentum SGD the training is unstable at a learning rate that is fine
without accumulation; the dev loss stays far higher than with one big batch. Fix: divide the loss by accum_grad_n_steps
before backward. Drawn from hirofumi0810/neural_sp#168.
"""
import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(format="%(message)s", level=logging.INFO)
logger = logging.getLogger("train")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--accum_grad_n_steps", type=int, default=8)
    parser.add_argument("--n_epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.8)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--enc_n_units", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class ToySpeech(Dataset):
    """Utterances made of segments; each phone has its own spectral mean."""

    n_phones, n_mels = 12, 16

    def __init__(self, n_utt, seed):
        protos = torch.randn(self.n_phones, self.n_mels, generator=torch.Generator().manual_seed(100))
        g = torch.Generator().manual_seed(seed)
        self.utts = []
        for _ in range(n_utt):
            n_seg = int(torch.randint(3, 6, (1,), generator=g))
            phones = torch.randint(0, self.n_phones, (n_seg,), generator=g)
            durs = torch.randint(2, 6, (n_seg,), generator=g)
            ys = phones.repeat_interleave(durs)
            xs = protos[ys] + 1.8 * torch.randn(len(ys), self.n_mels, generator=g)
            self.utts.append((xs, ys))

    def __len__(self):
        return len(self.utts)

    def __getitem__(self, i):
        return self.utts[i]


def collate(batch):
    xs = nn.utils.rnn.pad_sequence([x for x, _ in batch], batch_first=True)
    ys = nn.utils.rnn.pad_sequence([y for _, y in batch], batch_first=True, padding_value=-1)
    return {"xs": xs, "ys": ys, "xlens": torch.tensor([len(x) for x, _ in batch])}


class Speech(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.enc = nn.GRU(ToySpeech.n_mels, args.enc_n_units, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * args.enc_n_units, ToySpeech.n_phones)

    def forward(self, batch):
        packed = nn.utils.rnn.pack_padded_sequence(batch["xs"], batch["xlens"], batch_first=True, enforce_sorted=False)
        eouts, _ = nn.utils.rnn.pad_packed_sequence(self.enc(packed)[0], batch_first=True)
        logits = self.output(eouts)
        loss = F.cross_entropy(logits.transpose(1, 2), batch["ys"], ignore_index=-1)
        mask = batch["ys"] != -1
        acc = (logits.argmax(-1) == batch["ys"])[mask].float().mean()
        return loss, {"loss": loss.item(), "acc": acc.item()}


def train(model, optimizer, dataset, args):
    model.train()
    optimizer.zero_grad()
    accum_n_steps, losses = 0, []
    for batch in dataset:
        accum_n_steps += 1
        loss, observation = model(batch)
        loss.backward()  # CULPRIT
        if accum_n_steps >= args.accum_grad_n_steps:
            optimizer.step()
            optimizer.zero_grad()
            accum_n_steps = 0
        losses.append(observation["loss"])
    return sum(losses) / len(losses)


@torch.no_grad()
def evaluate(model, dataset):
    model.eval()
    obs = [model(batch)[1] for batch in dataset]
    return tuple(sum(o[k] for o in obs) / len(obs) for k in ("loss", "acc"))


def main():
    args = parse()
    torch.manual_seed(args.seed)
    train_set = DataLoader(ToySpeech(192, 0), args.batch_size, shuffle=True, collate_fn=collate)
    dev_set = DataLoader(ToySpeech(80, 1), 20, collate_fn=collate)
    model = Speech(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    for epoch in range(1, args.n_epochs + 1):
        loss = train(model, optimizer, train_set, args)
        dev_loss, dev_acc = evaluate(model, dev_set)
        logger.info("epoch %2d  train loss %.4f  dev loss %.4f  dev acc %.3f", epoch, loss, dev_loss, dev_acc)


if __name__ == "__main__":
    main()
