"""CTC phone recognizer: small conv + GRU acoustic model on synthetic utterances, greedy decoding, phone error rate.

TRUTH: nn.CTCLoss expects log-probabilities, but the output of the model is the raw logits of the last linear layer, so the value
is no likelihood (adding a constant to all logits changes it) and the gradient is not that of the value. Symptom: slow
learning, after 12 epochs the phone error rate is some 0.29 instead of 0.01 and the loss stays higher. Fix: log_softmax
over the classes before the loss. Drawn from gwx314/STARS#9, jeremyfix/deeplearning-lectures#22, pytorch/pytorch#52241.
"""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

N_PHONES = 8
BLANK = 0


class Utterances(Dataset):
    def __init__(self, n, seed, n_mels=12):
        protos = torch.randn(N_PHONES + 1, n_mels, generator=torch.Generator().manual_seed(0))
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            phones = torch.randint(1, N_PHONES + 1, (int(torch.randint(3, 6, (1,), generator=g)),), generator=g)
            frames = []
            for p in phones.tolist():
                d = int(torch.randint(3, 6, (1,), generator=g))
                frames += [protos[p]] * d + [protos[0] * 0.2]
            x = torch.stack(frames)
            self.items.append((x + 0.4 * torch.randn(x.shape, generator=g), phones))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    feats, phones = zip(*batch)
    return (pad_sequence(feats, batch_first=True), torch.tensor([len(f) for f in feats]),
            torch.cat(phones), torch.tensor([len(p) for p in phones]))


class AcousticModel(nn.Module):
    def __init__(self, n_mels=12, hid=32):
        super().__init__()
        self.conv = nn.Conv1d(n_mels, hid, 3, padding=1)
        self.rnn = nn.GRU(hid, hid, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hid, N_PHONES + 1)

    def forward(self, feats):
        x = torch.relu(self.conv(feats.transpose(1, 2))).transpose(1, 2)
        x, _ = self.rnn(x)
        return self.proj(x)  # CULPRIT


class Task:
    def __init__(self, model, lr=4e-3):
        self.model = model
        self.ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def run_model(self, batch):
        feats, feat_lens, phones, phone_lens = batch
        ph_frame = self.model(feats).transpose(0, 1)  # CULPRIT
        losses = {"ph_ctc_loss": self.ctc(ph_frame, phones, feat_lens, phone_lens)}
        return losses, ph_frame

    def training_step(self, batch):
        self.model.train()
        losses, _ = self.run_model(batch)
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return {k: v.item() for k, v in losses.items()}

    @torch.no_grad()
    def phone_error_rate(self, loader):
        self.model.eval()
        errors = total = 0
        for batch in loader:
            _, ph_frame = self.run_model(batch)
            best = ph_frame.argmax(-1).T
            refs = batch[2].split(batch[3].tolist())
            for path, n, ref in zip(best, batch[1], refs):
                path = torch.unique_consecutive(path[:n])
                errors += edit_distance(path[path != BLANK].tolist(), ref.tolist())
                total += len(ref)
        return errors / total


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


def main():
    torch.manual_seed(0)
    train = DataLoader(Utterances(240, 1), 16, shuffle=True, collate_fn=collate)
    valid = DataLoader(Utterances(60, 2), 60, collate_fn=collate)
    task = Task(AcousticModel())
    for epoch in range(1, 13):
        logs = [task.training_step(b) for b in train]
        mean = {k: sum(l[k] for l in logs) / len(logs) for k in logs[0]}
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d} {mean} valid PER {task.phone_error_rate(valid):.3f}")


if __name__ == "__main__":
    main()
