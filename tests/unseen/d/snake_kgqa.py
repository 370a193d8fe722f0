"""DEEP-PolyU/KEQA_WSDM19#2
Symptom: The attention weights of the question model are all 1.0, whatever the question is; the attention brings nothing.
EXPECT: runs
TRUTH: softmax runs over the last dimension, which has size 1, so that every weight is 1; use dim=0 (the sequence).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EmbedVector(nn.Module):
    def __init__(self, words_num, words_dim, hidden_size, target_size):
        super().__init__()
        self.embed = nn.Embedding(words_num, words_dim)
        self.lstm = nn.LSTM(input_size=words_dim, hidden_size=hidden_size, bidirectional=True)
        self.attn = nn.Sequential(
            nn.Linear(words_dim + hidden_size * 2, hidden_size),
            nn.Tanh(),
            nn.Linear(hidden_size, 1),
        )
        self.hidden2tag = nn.Sequential(
            nn.Linear(hidden_size * 2 + words_dim, hidden_size),
            nn.ReLU(),
            nn.Linear(hidden_size, target_size),
        )

    def forward(self, text):
        x = self.embed(text)
        outputs, _ = self.lstm(x)
        both = torch.cat((x, outputs), 2)
        attn_weights = F.softmax(self.attn(both), dim=2)  # CULPRIT
        attn_applied = (attn_weights * both).sum(0)
        return self.hidden2tag(attn_applied), attn_weights


def make_questions(n, seq_len, words_num, target_size, table):
    text = torch.randint(20, words_num, (n, seq_len))
    key = torch.randint(0, 20, (n,))
    pos = torch.randint(0, seq_len, (n,))
    text[torch.arange(n), pos] = key
    return TensorDataset(text, table[key])


def evaluate(model, loader, table):
    model.eval()
    hits, total, peak = 0, 0, []
    with torch.no_grad():
        for text, target in loader:
            scores, attn = model(text.t())
            found = torch.cdist(scores, table).argmin(1)
            truth = torch.cdist(target, table).argmin(1)
            hits += (found == truth).sum().item()
            total += len(target)
            peak.append((attn.amax(0) / attn.sum(0)).mean().item())
    model.train()
    return hits / total, sum(peak) / len(peak)


def main():
    torch.manual_seed(3435)
    torch.set_num_threads(1)
    words_num, seq_len, target_size = 120, 24, 16
    table = torch.randn(20, target_size)
    train_iter = DataLoader(make_questions(1200, seq_len, words_num, target_size, table), batch_size=40, shuffle=True)
    dev_iter = DataLoader(make_questions(400, seq_len, words_num, target_size, table), batch_size=100)
    model = EmbedVector(words_num, 24, 24, target_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.MSELoss()
    for epoch in range(1, 7):
        running = 0.0
        for text, target in train_iter:
            optimizer.zero_grad()
            scores, _ = model(text.t())
            loss = criterion(scores, target)
            loss.backward()
            optimizer.step()
            running += loss.item()
        acc, peak = evaluate(model, dev_iter, table)
        print(f"epoch {epoch}  loss {running / len(train_iter):.4f}  dev acc {acc:.3f}  largest attention share {peak:.3f}")


if __name__ == "__main__":
    main()
