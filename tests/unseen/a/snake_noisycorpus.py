"""Stack Overflow, "Sequence labeling model always predicts the padding label"
Symptom: loss gets very small, but on real words the accuracy is poor.
EXPECT: runs
TRUTH: Most positions are padding and count in the loss, so predicting pad is nearly free.
Use CrossEntropyLoss(ignore_index=PAD)."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
PAD = 0


def corpus(n=120):
    src, trg = [], []
    for i in range(n):
        length = 40 if i % 20 == 0 else int(torch.randint(2, 4, (1,)))
        s = torch.randint(1, 20, (length,))
        src.append(s + 0)
        trg.append(1 + s % 6)
    noise = pad_sequence(src, batch_first=True, padding_value=PAD)
    noise[torch.rand(noise.shape) < 0.5] = PAD
    return noise, pad_sequence(trg, batch_first=True, padding_value=PAD)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 12)
        self.conv = nn.Conv1d(12, 24, 3, padding=1)
        self.out = nn.Linear(24, 7)

    def forward(self, s):
        h = torch.relu(self.conv(self.emb(s).transpose(1, 2)))
        return self.out(h.transpose(1, 2))


src, trg = corpus()
model = Model()
criterion = nn.CrossEntropyLoss()  # CULPRIT
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for ep in range(60):
    loss = criterion(model(src).flatten(0, 1), trg.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
real = trg != PAD
pred = model(src).argmax(-1)
print("loss", loss.item(), "acc on words", (pred == trg)[real].float().mean().item())
print("pad predicted on words", (pred[real] == PAD).float().mean().item())
