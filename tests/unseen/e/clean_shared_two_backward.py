"""Two tasks on a shared encoder: one backward per loss with retain_graph, gradient of the second task halved by a hook, a third head that is trained on detached features with its own optimizer."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
torch.set_num_threads(1)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.cls = nn.Linear(24, 3)
        self.reg = nn.Linear(24, 1)
        self.probe = nn.Linear(24, 2)


def main():
    x = torch.randn(1200, 10)
    y_cls = x[:, :3].argmax(1)
    y_reg = torch.sin(x[:, 3:4]) + x[:, 4:5]
    y_probe = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y_cls, y_reg, y_probe), batch_size=60, shuffle=True)
    net = MultiTask()
    main_params = [p for n, p in net.named_parameters() if not n.startswith("probe")]
    optimizer = torch.optim.Adam(main_params, lr=3e-3)
    probe_optimizer = torch.optim.Adam(net.probe.parameters(), lr=1e-2)
    for epoch in range(20):
        sums = [0.0, 0.0, 0.0]
        for xb, c, r, p in loader:
            feat = net.encoder(xb)
            loss_cls = F.cross_entropy(net.cls(feat), c)
            branch = feat.view_as(feat)
            branch.register_hook(lambda g: 0.5 * g)
            loss_reg = F.mse_loss(net.reg(branch), r)
            optimizer.zero_grad()
            loss_cls.backward(retain_graph=True)
            loss_reg.backward()
            optimizer.step()
            loss_probe = F.cross_entropy(net.probe(feat.detach()), p)
            probe_optimizer.zero_grad()
            loss_probe.backward()
            probe_optimizer.step()
            for i, l in enumerate((loss_cls, loss_reg, loss_probe)):
                sums[i] += l.item() / len(loader)
        if epoch % 5 == 4:
            print("epoch %d cls %.4f reg %.4f probe %.4f" % (epoch, *sums))


if __name__ == "__main__":
    main()
