"""WRONG. The parameters of the layers are not in model.parameters(), the loss stays far above that of the same layers written out one by one.
TRUTH: The layers are kept in a plain Python list, so they are invisible for parameters() and the optimizer; wrap the list into nn.ModuleList.
THREAD: https://discuss.pytorch.org/t/is-it-mandatory-to-add-modules-to-modulelist-to-access-its-parameters/81622
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class Highway(nn.Module):
    def __init__(self, input_dim, num_layers=2, activation=torch.relu):
        super().__init__()
        self.input_dim = input_dim
        self.activation = activation
        self.layers = [nn.Linear(input_dim, input_dim * 2) for _ in range(num_layers)]  # CULPRIT
        for layer in self.layers:
            layer.bias.data[input_dim:].fill_(1)

    def forward(self, inputs):
        current = inputs
        for layer in self.layers:
            projected = layer(current)
            nonlinear, gate = projected.chunk(2, dim=-1)
            gate = torch.sigmoid(gate)
            current = gate * current + (1 - gate) * self.activation(nonlinear)
        return current


class CharCNN(nn.Module):
    def __init__(self, n_chars, n_classes, emb=12, filters=24, highway_layers=3):
        super().__init__()
        self.embedding = nn.Embedding(n_chars, emb)
        self.conv = nn.Conv1d(emb, filters, kernel_size=3, padding=1)
        self.highway = Highway(filters, highway_layers)
        self.out = nn.Linear(filters, n_classes)

    def forward(self, chars):
        x = self.embedding(chars).transpose(1, 2)
        x = F.relu(self.conv(x)).max(2)[0]
        return self.out(self.highway(x))


n_chars, n_classes, word_len = 16, 4, 10


def make_words(n):
    """the class is the parity pattern of two rare character pairs"""
    chars = torch.randint(4, n_chars, (n, word_len))
    a = torch.rand(n) < 0.5
    b = torch.rand(n) < 0.5
    c = torch.rand(n) < 0.5
    rows = torch.arange(n)
    for flag, (p, q), lo in ((a, (0, 1), 0), (b, (2, 3), 3), (c, (1, 2), 6)):
        pos = lo + torch.randint(0, 2, (n,))
        chars[rows[flag], pos[flag]] = p
        chars[rows[flag], pos[flag] + 1] = q
    label = (a ^ b).long() + 2 * (b ^ c).long()
    return chars, label


train_x, train_y = make_words(3000)
test_x, test_y = make_words(1000)

model = CharCNN(n_chars, n_classes)
print('number of parameters', sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, 16):
    model.train()
    perm = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(perm), 64):
        j = perm[i:i + 64]
        loss = F.cross_entropy(model(train_x[j]), train_y[j])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(j)
    if epoch % 5 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(test_x).argmax(1) == test_y).float().mean().item()
        print('epoch %d loss %.4f test acc %.3f' % (epoch, total / len(perm), acc))
