"""queenie88/A-GCN#4, "Question about gradient flow"
Symptom: the two weight matrices of the learned adjacency (W_theta, W_phi) are never updated, accuracy stays low.
EXPECT: runs
TRUTH: the adjacency computed from W_theta and W_phi is detached before the graph convolution, so no gradient reaches them; drop the detach().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


def make_graphs(n, nodes=12):
    kind = torch.randint(0, 4, (n, nodes))
    value = torch.randn(n, nodes)
    x = torch.cat([F.one_hot(kind, 4).float(), value.unsqueeze(-1)], dim=-1)
    weight = (kind == 2).float()
    y = ((weight * value).sum(1) > 0).long()
    return TensorDataset(x, y)


class AdaptiveGraphConv(nn.Module):
    def __init__(self, in_dim, out_dim, emb=8):
        super().__init__()
        self.W_theta = nn.Linear(in_dim, emb, bias=False)
        self.W_phi = nn.Linear(in_dim, emb, bias=False)
        self.gcn = nn.Linear(in_dim, out_dim)

    def build_adj(self, x):
        sim = torch.bmm(self.W_theta(x), self.W_phi(x).transpose(1, 2))
        return F.softmax(sim, dim=-1)

    def forward(self, x):
        adj = self.build_adj(x).detach()  # CULPRIT
        return F.relu(self.gcn(torch.bmm(adj, x)))


class AGCN(nn.Module):
    def __init__(self, in_dim=5, hidden=16, num_classes=2):
        super().__init__()
        self.conv = AdaptiveGraphConv(in_dim, hidden)
        self.fc = nn.Linear(hidden, num_classes)

    def forward(self, x):
        return self.fc(self.conv(x).mean(dim=1))


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += y.numel()
    model.train()
    return correct / total


def main():
    train_loader = DataLoader(make_graphs(1500), batch_size=64, shuffle=True)
    test_loader = DataLoader(make_graphs(500), batch_size=100)
    model = AGCN()
    start = model.conv.W_theta.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(25):
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        if epoch % 6 == 0 or epoch == 24:
            print("epoch %d loss %.4f test acc %.3f" % (epoch, running / len(train_loader), evaluate(model, test_loader)))
    print("change of W_theta: %.5f" % (model.conv.W_theta.weight - start).norm().item())


if __name__ == "__main__":
    main()
