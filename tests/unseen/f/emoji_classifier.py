"""What the user sees: the losses do not decrease when I finetune, each epoch has the same val loss and acc (0.69...). I
had to write loss.requires_grad_(), otherwise there is the error "element 0 of tensors does not require
grad and does not have a grad_fn".

TRUTH: the model returns outputs.data, which cuts the graph; setting requires_grad on the loss only silences the error. Fix: remove the
outputs = outputs.data line.
THREAD: https://github.com/huggingface/torchMoji/issues/21 "loss don't go down when finetune"
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    def __init__(self, attention_size):
        super(Attention, self).__init__()
        self.attention_vector = nn.Parameter(torch.randn(attention_size) * 0.05)

    def forward(self, inputs):
        logits = inputs.matmul(self.attention_vector)
        weights = torch.softmax(logits, dim=1)
        return (inputs * weights.unsqueeze(-1)).sum(dim=1)


class TorchMoji(nn.Module):
    def __init__(self, nb_classes, nb_tokens, hidden=24, output_logits=False, return_tensor=True):
        super(TorchMoji, self).__init__()
        self.output_logits = output_logits
        self.return_tensor = return_tensor
        self.embed = nn.Embedding(nb_tokens, 16)
        self.lstm_0 = nn.LSTM(16, hidden, batch_first=True, bidirectional=True)
        self.attention_layer = Attention(2 * hidden + 16)
        self.output_layer = nn.Linear(2 * hidden + 16, nb_classes)

    def forward(self, input_seqs):
        x = torch.tanh(self.embed(input_seqs))
        lstm_out, _ = self.lstm_0(x)
        x = self.attention_layer(torch.cat((lstm_out, x), dim=2))
        outputs = self.output_layer(x)
        if self.return_tensor:
            outputs = outputs.data  # CULPRIT
        return outputs if self.output_logits else torch.sigmoid(outputs)


def comments(n, length=12, nb_tokens=50):
    x = torch.randint(0, nb_tokens, (n, length))
    score = (x < 12).sum(1) - ((x >= 12) & (x < 24)).sum(1)
    keep = score != 0
    return TensorDataset(x[keep], (score[keep] > 0).float().unsqueeze(1))


def calculate_accuracy(model, loader, loss_op):
    model.eval()
    acc = loss = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += loss_op(out, y).item() * len(y)
            acc += ((out > 0) == (y > 0.5)).sum().item()
            n += len(y)
    return acc / n, loss / n


def fit_model(model, loss_op, optim_op, train_gen, val_gen, epochs):
    for epoch in range(epochs):
        model.train()
        for x, y in train_gen:
            optim_op.zero_grad()
            output = model(x)
            loss = loss_op(output, y)
            loss.requires_grad_()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            optim_op.step()
        acc, loss = calculate_accuracy(model, val_gen, loss_op)
        print('%d Epoch val acc %.2f val loss %.5f' % (epoch + 1, 100 * acc, loss))


if __name__ == '__main__':
    torch.manual_seed(0)
    model = TorchMoji(nb_classes=1, nb_tokens=50, output_logits=True)
    train_gen = DataLoader(comments(1500), batch_size=32, shuffle=True)
    val_gen = DataLoader(comments(400), batch_size=100)
    fit_model(model, nn.BCEWithLogitsLoss(), torch.optim.Adam(model.parameters(), lr=3e-3), train_gen, val_gen, 6)
