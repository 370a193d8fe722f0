"""Predicts phoneme durations of short utterances of different length, as the duration model of a speech synthesizer.

TRUTH: the loss averages over all positions of the padded batch, and the padding of the targets is 0, so the model is trained to say 0 for the pauses that pad the phonemes; no error, predicted durations of real pauses are 0.5 too small (mean error printed); average over real phonemes only.
"""
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


class DurationModel(nn.Module):
    def __init__(self, phonemes=12, width=24):
        super().__init__()
        self.embed = nn.Embedding(phonemes, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, 1)

    def forward(self, phones):
        h = self.embed(phones)
        h = h + F.relu(self.conv(h.transpose(1, 2))).transpose(1, 2)
        return self.out(h).squeeze(-1)


class Utterances:
    """Phoneme ids (0 is a pause) and log durations."""

    def __init__(self, n):
        self.items = []
        base = torch.linspace(2.5, 1.0, 12)
        for _ in range(n):
            length = int(torch.randint(4, 20, (1,)))
            phones = torch.randint(0, 12, (length,))
            phones[torch.rand(length) < 0.2] = 0
            self.items.append((phones, base[phones] + 0.1 * torch.randn(length)))

    def batch(self, size):
        chosen = [self.items[int(i)] for i in torch.randint(0, len(self.items), (size,))]
        phones = pad_sequence([p for p, _ in chosen], batch_first=True)
        durations = pad_sequence([d for _, d in chosen], batch_first=True)
        lengths = torch.tensor([len(p) for p, _ in chosen])
        return phones, durations, torch.arange(phones.shape[1]) < lengths[:, None]


def masked_error(model, phones, durations, mask):
    return (model(phones) - durations)[mask]


def main(steps=200):
    torch.manual_seed(37)
    data = Utterances(400)
    model = DurationModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        phones, durations, mask = data.batch(32)
        loss = masked_error(model, phones, durations, mask).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 4))
    with torch.no_grad():
        phones, durations, mask = data.batch(200)
        error = masked_error(model, phones, durations, mask)
        pauses = error[(phones == 0)[mask]]
    print("loss", loss.item(), "mean error", error.mean().item(), "on pauses", pauses.mean().item())


if __name__ == "__main__":
    main()
