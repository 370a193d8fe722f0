"""Toy text-to-speech acoustic model (tokens with known durations to mel frames, two speakers) with a masked L1 loss.

TRUTH: the network returns mels as (batch, n_mels, frames) but the loss takes the maximum length from
dimension 1 and puts the mask on that axis: it masks mel BINS by utterance length and never masks the
padded frames. Symptom: padded frames get gradient (the model learns the pad value -4), while the upper mel
bins of utterances shorter than n_mels frames (speaker 0) get none and are never learnt: the error on
valid frames of speaker 0 stays high though the train loss falls. Fix: mask of size x.size(2), put on the
frame axis: `self.pad_mask(lens, x.size(2)).unsqueeze(1)`.
Drawn from axelspringer/ForwardTacotron#21.
"""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

N_MELS, N_PHONES, PAD_VALUE = 24, 12, -4.0


class MaskedL1(nn.Module):
    @staticmethod
    def pad_mask(lens, max_len):
        return (torch.arange(max_len).unsqueeze(0) < lens.unsqueeze(1)).float()

    def forward(self, x, target, lens):
        mask = self.pad_mask(lens, x.size(1)).unsqueeze(2)  # CULPRIT
        mask = mask.expand_as(x)
        return ((x - target).abs() * mask).sum() / mask.sum()


class AcousticModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.phone = nn.Embedding(N_PHONES, dim)
        self.speaker = nn.Embedding(2, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.lin = nn.Linear(2 * dim, N_MELS)
        self.postnet = nn.Sequential(nn.Conv1d(N_MELS, 32, 5, padding=2), nn.Tanh(),
                                     nn.Conv1d(32, N_MELS, 5, padding=2))

    @staticmethod
    def expand(x, durations):
        """Length regulator: repeat every phone by its duration."""
        return pad_sequence([xi.repeat_interleave(d, dim=0) for xi, d in zip(x, durations)], batch_first=True)

    def forward(self, phones, durations, speaker):
        x = [self.phone(p) + self.speaker(s) for p, s in zip(phones, speaker)]
        x, _ = self.rnn(self.expand(x, durations))
        mel = self.lin(x).transpose(1, 2)
        return mel, mel + self.postnet(mel)


def make_voice(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(2, N_PHONES, N_MELS, generator=g)


def make_corpus(n, voice, seed):
    """Speaker 0 speaks short phrases, speaker 1 long ones."""
    g = torch.Generator().manual_seed(seed)
    corpus = []
    for i in range(n):
        spk = i % 2
        n_ph = int(torch.randint(2, 4, (1,), generator=g)) if spk == 0 else int(torch.randint(9, 13, (1,), generator=g))
        ph = torch.randint(0, N_PHONES, (n_ph,), generator=g)
        dur = torch.randint(2, 5, (n_ph,), generator=g)
        mel = voice[spk][ph].repeat_interleave(dur, dim=0)
        corpus.append((ph, dur, torch.tensor(spk), mel + 0.05 * torch.randn(mel.shape, generator=g)))
    return corpus


def collate(items):
    phones, durs, spk, mels = zip(*items)
    lens = torch.tensor([len(m) for m in mels])
    mel = pad_sequence(mels, batch_first=True, padding_value=PAD_VALUE).transpose(1, 2)
    return phones, durs, torch.stack(spk), mel, lens


@torch.no_grad()
def validate(model, corpus):
    model.eval()
    err = {0: [], 1: []}
    for item in corpus:
        phones, durs, spk, mel, _ = collate([item])
        _, post = model(phones, durs, spk)
        err[int(spk)].append((post - mel).abs().mean().item())
    model.train()
    return {s: sum(e) / len(e) for s, e in err.items()}


def main():
    torch.manual_seed(9)
    voice = make_voice(3)
    train, val = make_corpus(240, voice, 1), make_corpus(40, voice, 2)
    model, criterion = AcousticModel(), MaskedL1()
    optim = torch.optim.Adam(model.parameters(), lr=4e-3)
    g = torch.Generator().manual_seed(0)
    for epoch in range(1, 8):
        total, count = 0.0, 0
        for idx in torch.randperm(len(train), generator=g).split(16):
            phones, durs, spk, mel, lens = collate([train[i] for i in idx.tolist()])
            pre, post = model(phones, durs, spk)
            loss = criterion(pre, mel, lens) + criterion(post, mel, lens)
            optim.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optim.step()
            total, count = total + loss.item(), count + 1
        val_err = validate(model, val)
        print(f"| Epoch {epoch} | Mel loss {total / count:.4f} | val L1 speaker 0 {val_err[0]:.4f} "
              f"| val L1 speaker 1 {val_err[1]:.4f}")


if __name__ == "__main__":
    main()
