# kind: not_log_probabilities
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(14)
SYMBOLS, BANDS = 5, 12


class ToneStrings(Dataset):
    """Every symbol is a tone of some frames in its own band; 0 is the blank."""

    def __init__(self, n):
        self.items = [self.compose() for _ in range(n)]

    def compose(self):
        label = torch.randint(1, SYMBOLS + 1, (int(torch.randint(2, 5, (1,))),))
        frames = []
        for s in label.tolist():
            tone = torch.zeros(int(torch.randint(2, 4, (1,))), BANDS)
            tone[:, 2 * s] = 1.5
            frames += [tone, torch.zeros(1, BANDS)]
        frames = torch.cat(frames)
        return frames + 0.2 * torch.randn_like(frames), label

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    xs, ys = zip(*batch)
    n_frames = torch.tensor([len(x) for x in xs])
    n_labels = torch.tensor([len(y) for y in ys])
    return nn.utils.rnn.pad_sequence(xs, batch_first=True), torch.cat(ys), n_frames, n_labels


class Recognizer(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Conv1d(BANDS, hidden, 3, padding=1)
        self.out = nn.Linear(hidden, SYMBOLS + 1)

    def scores(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2)))
        return self.out(h.transpose(1, 2))

    def forward(self, x):
        return self.scores(x).softmax(-1).transpose(0, 1)  # CULPRIT


def greedy(emissions, n_frames):
    texts = []
    for row, n in zip(emissions.argmax(-1).t(), n_frames.tolist()):
        best = torch.unique_consecutive(row[:n])
        texts.append(best[best != 0].tolist())
    return texts


def main():
    loader = DataLoader(ToneStrings(300), batch_size=20, shuffle=True, collate_fn=collate)
    model, ctc = Recognizer(), nn.CTCLoss(blank=0)
    opt = torch.optim.Adam(model.parameters(), lr=8e-3)
    for epoch in range(8):
        exact = 0
        for x, y, n_frames, n_labels in loader:
            emissions = model(x)
            loss = ctc(emissions, y, n_frames, n_labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            truth = [part.tolist() for part in y.split(n_labels.tolist())]
            exact += sum(a == b for a, b in zip(greedy(emissions.detach(), n_frames), truth))
        print(f"epoch {epoch} loss {loss.item():.3f} exact {exact / 300:.3f}")


main()
