"""WRONG. The Bi-LSTM with attention learns, but its answer for one and the same sentence depends on the other sentences in the batch: evaluated alone and in a batch I get different logits (dropout is off).
TRUTH: h_n has the shape (num_directions, batch, n_hidden); final_state.view(-1, n_hidden * 2, 1) only re-cuts the memory and so gives most sentences state vectors of other sentences as attention query. It must be final_state.transpose(0, 1).reshape(-1, n_hidden * 2, 1).
THREAD: https://github.com/graykode/nlp-tutorial/issues/38
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

vocab_size = 40
embedding_dim = 12
n_hidden = 10
num_classes = 2
seq_len = 8
POSITIVE, NEGATIVE, NEGATION = range(1, 8), range(8, 15), 15


def synth_reviews(n):
    """Positive/negative words between fillers; a leading negation turns the sense round."""
    sentences = torch.randint(16, vocab_size, (n, seq_len))
    labels = torch.randint(0, num_classes, (n,))
    for i in range(n):
        words = POSITIVE if labels[i] == 1 else NEGATIVE
        pos = 1 + torch.randint(seq_len - 1, (1,)).item()
        sentences[i, pos] = words[torch.randint(len(words), (1,)).item()]
        if torch.rand(1).item() < 0.3:
            sentences[i, 0] = NEGATION
            labels[i] = 1 - labels[i]
    return sentences, labels


class BiLSTM_Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, n_hidden, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(n_hidden * 2, num_classes)

    # lstm_output : [batch_size, n_step, n_hidden * num_directions(=2)], F matrix
    def attention_net(self, lstm_output, final_state):
        hidden = final_state.view(-1, n_hidden * 2, 1)  # CULPRIT
        attn_weights = torch.bmm(lstm_output, hidden).squeeze(2)  # attn_weights : [batch_size, n_step]
        soft_attn_weights = F.softmax(attn_weights, 1)
        context = torch.bmm(lstm_output.transpose(1, 2), soft_attn_weights.unsqueeze(2)).squeeze(2)
        return context, soft_attn_weights.detach()

    def forward(self, X):
        input = self.dropout(self.embedding(X))
        input = input.permute(1, 0, 2)  # input : [len_seq, batch_size, embedding_dim]
        hidden_state = torch.zeros(1 * 2, len(X), n_hidden)
        cell_state = torch.zeros(1 * 2, len(X), n_hidden)
        output, (final_hidden_state, final_cell_state) = self.lstm(input, (hidden_state, cell_state))
        output = output.permute(1, 0, 2)
        attn_output, attention = self.attention_net(output, final_hidden_state)
        return self.out(attn_output), attention


@torch.no_grad()
def evaluate(model, X, y):
    model.eval()
    logits, attention = model(X)
    alone = torch.cat([model(x.unsqueeze(0))[0] for x in X])
    model.train()
    acc = (logits.argmax(1) == y).float().mean().item()
    return acc, (logits - alone).abs().max().item(), attention[0]


def main():
    train = synth_reviews(256)
    test_x, test_y = synth_reviews(64)
    loader = DataLoader(TensorDataset(*train), batch_size=32, shuffle=True)
    model = BiLSTM_Attention()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(12):
        total = 0.0
        for X, y in loader:
            optimizer.zero_grad()
            output, _ = model(X)
            loss = criterion(output, y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(X)
        if epoch % 3 == 2:
            acc, gap, _ = evaluate(model, test_x, test_y)
            print(f"epoch {epoch + 1:2d}  cost {total / 256:.4f}  test accuracy {acc:.3f}  batch/alone gap {gap:.2e}")
    acc, gap, attention = evaluate(model, test_x, test_y)
    print("attention of the first test sentence:", [round(a, 2) for a in attention.tolist()])
    print(f"largest difference of logits, batch against alone: {gap:.6f}")


if __name__ == "__main__":
    main()
