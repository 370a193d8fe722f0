"""WRONG. The RAM keeps increasing during each epoch of the extractive QA homework until the machine runs out of memory.
TRUTH: train_loss += output.loss stores the complete computation graph of every step; add output.loss.item() (or .detach()).
THREAD: https://github.com/pai4451/ML2021/issues/2
"""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


@dataclass
class QAOutput:
    loss: torch.Tensor
    start_logits: torch.Tensor
    end_logits: torch.Tensor


class TinyForQuestionAnswering(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, 40, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.qa_outputs = nn.Linear(dim, 2)

    def forward(self, input_ids, start_positions=None, end_positions=None):
        h = self.encoder(self.emb(input_ids) + self.pos[:, :input_ids.size(1)])
        start_logits, end_logits = self.qa_outputs(h).unbind(-1)
        loss = None
        if start_positions is not None:
            loss = (F.cross_entropy(start_logits, start_positions) + F.cross_entropy(end_logits, end_positions)) / 2
        return QAOutput(loss, start_logits, end_logits)


class QA_Dataset(Dataset):
    """the answer lies between the two marks 1 and 2"""

    def __init__(self, n):
        self.ids = torch.randint(3, 60, (n, 24))
        self.start = torch.randint(1, 12, (n,))
        self.end = self.start + torch.randint(1, 10, (n,))
        self.ids[torch.arange(n), self.start - 1] = 1
        self.ids[torch.arange(n), self.end + 1] = 2

    def __getitem__(self, idx):
        return self.ids[idx], self.start[idx], self.end[idx]

    def __len__(self):
        return len(self.ids)


num_epoch = 3
logging_step = 50
learning_rate = 2e-3
train_loader = DataLoader(QA_Dataset(1600), batch_size=16, shuffle=True)
model = TinyForQuestionAnswering()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

model.train()
print("Start Training ...")
for epoch in range(num_epoch):
    step = 1
    train_loss = train_acc = 0
    for data in train_loader:
        output = model(input_ids=data[0], start_positions=data[1], end_positions=data[2])
        start_index = torch.argmax(output.start_logits, dim=1)
        end_index = torch.argmax(output.end_logits, dim=1)
        train_acc += ((start_index == data[1]) & (end_index == data[2])).float().mean()
        train_loss += output.loss  # CULPRIT

        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
    print(f"Epoch {epoch + 1} | loss = {train_loss.item() / step:.3f}, acc = {train_acc / step:.3f}")
