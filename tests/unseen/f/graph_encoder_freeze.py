"""What the user sees: get_frozen_status() says that the encoder is frozen, but the embeddings of the frozen encoder drift
away from the checkpoint while only the head is fine-tuned, and the running_mean of its BatchNorm changes.

TRUTH: freeze() puts BatchNorm in eval mode once; the model.train() at the start of each epoch switches it back to train
mode, so its running statistics are overwritten. Fix: override train() (or call the encoder's eval() after model.train()).
THREAD: https://github.com/pgniewko/gt-pyg/issues/112 "freeze() BatchNorm eval mode is reset by the next model.train()"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GTEncoder(nn.Module):
    def __init__(self, node_dim=8, hidden=32):
        super().__init__()
        self.lin1 = nn.Linear(node_dim, hidden)
        self.norm1 = nn.BatchNorm1d(hidden)
        self.lin2 = nn.Linear(hidden, hidden)
        self.norm2 = nn.BatchNorm1d(hidden)

    def forward(self, nodes):
        B, N, D = nodes.shape
        h = F.relu(self.norm1(self.lin1(nodes.reshape(B * N, D))))
        h = F.relu(self.norm2(self.lin2(h)))
        return h.view(B, N, -1).mean(1)


class GraphTransformerNet(nn.Module):
    def __init__(self, hidden=32, num_tasks=1):
        super().__init__()
        self.encoder = GTEncoder(hidden=hidden)
        self.head = nn.Linear(hidden, num_tasks)
        self._frozen = False

    def _set_requires_grad(self, modules, requires_grad):
        for module in modules:
            for param in module.parameters():
                param.requires_grad = requires_grad
            for m in module.modules():
                if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
                    m.train() if requires_grad else m.eval()

    def freeze(self):
        self._set_requires_grad([self.encoder], False)
        self._frozen = True

    def get_frozen_status(self):
        return {'encoder': self._frozen}

    def forward(self, nodes):
        return self.head(self.encoder(nodes)).squeeze(-1)


def molecules(n, shift=0.0):
    nodes = torch.randn(n, 6, 8) + shift
    y = nodes[:, :, 0].mean(1) + (nodes[:, :, 1] * nodes[:, :, 2]).mean(1)
    return nodes, y


def train_one_epoch(model, optimizer, data, batch_size=32):
    model.train()  # CULPRIT
    x, y = data
    perm = torch.randperm(len(x))
    total = 0.
    for i in range(0, len(x), batch_size):
        idx = perm[i:i + batch_size]
        loss = F.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(x)


def main():
    torch.manual_seed(0)
    model = GraphTransformerNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    pre = molecules(1500)
    for epoch in range(8):
        print('pretrain', epoch, 'loss %.4f' % train_one_epoch(model, optimizer, pre))

    model.eval()
    model.freeze()
    probe = molecules(100)[0]
    reference = model.encoder(probe).detach()
    running = model.encoder.norm1.running_mean.clone()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=3e-3)
    fine = molecules(600, shift=1.5)
    for epoch in range(5):
        loss = train_one_epoch(model, optimizer, fine)
        model.eval()
        with torch.no_grad():
            drift = (model.encoder(probe) - reference).abs().mean().item()
        print('finetune', epoch, 'loss %.4f' % loss, model.get_frozen_status(), 'embedding drift %.4f' % drift,
              'running_mean change %.4f' % (model.encoder.norm1.running_mean - running).abs().max().item())


if __name__ == '__main__':
    main()
