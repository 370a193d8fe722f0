"""Classify pen gestures of different lengths with a GRU over padded strokes.

TRUTH: the GRU runs over the padded batch and its h_n is the state after the last padded step, not after the last real one of the shorter gestures; silently wrong, accuracy of the short ones lags behind (printed) and depends on the padding; pack the sequences with their lengths.
"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


def draw_gesture(gen):
    label = int(torch.randint(0, 4, (), generator=gen))
    length = int(torch.randint(5, 60, (), generator=gen))
    angle = torch.randn(length, generator=gen)
    angle[-3:] = label * 1.57 + 0.4 * torch.randn(3, generator=gen)
    return torch.stack([angle.cos(), angle.sin()], dim=1), label


def collate(items):
    strokes, labels = zip(*items)
    lengths = torch.tensor([len(s) for s in strokes])
    return pad_sequence(strokes, batch_first=True), lengths, torch.tensor(labels)


class GestureNet(nn.Module):
    def __init__(self, hidden=24, classes=4):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, strokes, lengths):
        packed = pack_padded_sequence(strokes, lengths, batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        return self.head(last[-1])


def main():
    torch.manual_seed(30)
    gen = torch.Generator().manual_seed(30)
    data = [draw_gesture(gen) for _ in range(640)]
    loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate)
    model = GestureNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        hits = {"short": [], "long": []}
        for strokes, lengths, label in loader:
            logits = model(strokes, lengths)
            loss = F.cross_entropy(logits, label)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            for ok, n in zip((logits.argmax(1) == label).tolist(), lengths.tolist()):
                hits["short" if n < 30 else "long"].append(ok)
        print(f"epoch {epoch} loss {loss.item():.3f}", {k: round(sum(v) / len(v), 3) for k, v in hits.items()})


if __name__ == "__main__":
    main()
