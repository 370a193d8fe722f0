"""hosseinshn/GradNorm#10
Symptom: RuntimeError: One of the differentiated Tensors appears to not have been used in the graph, at the gradient norms of GradNorm.
EXPECT: raises RuntimeError
TRUTH: .clone() makes a new tensor that the loss does not depend on; differentiate with respect to the shared weight itself.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MTLnet(nn.Module):
    def __init__(self, feature_size=10, shared=24, tower_h=12):
        super().__init__()
        self.sharedlayer = nn.Sequential(nn.Linear(feature_size, shared), nn.ReLU(), nn.Linear(shared, shared), nn.ReLU())
        self.tower1 = nn.Sequential(nn.Linear(shared, tower_h), nn.ReLU(), nn.Linear(tower_h, 1))
        self.tower2 = nn.Sequential(nn.Linear(shared, tower_h), nn.ReLU(), nn.Linear(tower_h, 1))

    def forward(self, x):
        h = self.sharedlayer(x)
        return self.tower1(h), self.tower2(h)


def make_data(n):
    x = torch.randn(n, 10)
    w1, w2 = torch.randn(10, 1), torch.randn(10, 1)
    y1 = torch.tanh(x @ w1) + 0.05 * torch.randn(n, 1)
    y2 = 6.0 * torch.tanh(x @ w2) + 0.05 * torch.randn(n, 1)
    return TensorDataset(x, y1, y2)


def train(MTL, loader, alpha=0.12, epochs=8):
    loss_weights = nn.Parameter(torch.ones(2))
    optimizer1 = torch.optim.Adam(MTL.parameters(), lr=5e-3)
    optimizer2 = torch.optim.Adam([loss_weights], lr=2e-2)
    Gradloss, mse = nn.L1Loss(), nn.MSELoss()
    initial = None
    shared = MTL.sharedlayer[2].weight
    for it in range(epochs):
        sums = torch.zeros(2)
        for X, Y1, Y2 in loader:
            out1, out2 = MTL(X)
            task_losses = torch.stack([mse(out1, Y1), mse(out2, Y2)])
            if initial is None:
                initial = task_losses.detach()
            loss = (loss_weights.detach() * task_losses).sum()

            norms = []
            for i in range(2):
                L = loss_weights[i] * task_losses[i]
                G1R = torch.autograd.grad(L, shared.clone(), retain_graph=True, create_graph=True)  # CULPRIT
                norms.append(torch.norm(G1R[0], 2))
            norms = torch.stack(norms)
            lhat = task_losses.detach() / initial
            inv_rate = lhat / lhat.mean()
            C = (norms.mean() * inv_rate ** alpha).detach()
            Lgrad = Gradloss(norms, C)
            grad_w = torch.autograd.grad(Lgrad, loss_weights, retain_graph=True)[0]

            optimizer1.zero_grad()
            loss.backward()
            optimizer1.step()

            loss_weights.grad = grad_w
            optimizer2.step()
            with torch.no_grad():
                loss_weights.clamp_(min=0.05)
                loss_weights.mul_(2.0 / loss_weights.sum())
            sums += task_losses.detach()
        print("epoch %d  losses %s  weights %s" % (
            it, [round(v, 3) for v in (sums / len(loader)).tolist()], [round(v, 3) for v in loss_weights.tolist()]))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train(MTLnet(), DataLoader(make_data(800), batch_size=40, shuffle=True))
