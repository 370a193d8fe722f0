"""Stack Overflow, "IndexError: Target 5 is out of bounds"
Symptom: cross entropy raises with 5 classes; the CSV has the classes 1 to 5.
EXPECT: raises IndexError
TRUTH: Class indices must run from 0 to C-1, the file counts from 1. Subtract one when the labels are read
(not: give the network a sixth output)."""
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
CLASSES = 5


def read_rows(n=120):
    rows = []
    for _ in range(n):
        f = torch.randn(6)
        rows.append([*f.tolist(), int(f[:5].argmax()) + 1])
    return rows


class Plants(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        x = torch.tensor(r[:-1])
        y = torch.tensor(int(r[-1]))  # CULPRIT
        return x, y


loader = DataLoader(Plants(read_rows()), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, CLASSES))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", loss.item())
