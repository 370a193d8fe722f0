"""CORRECT. SimSiam: the projection z is detached in both halves of the symmetric loss on purpose (stop-gradient); the encoder learns through the predictor's side.
THREAD: https://github.com/PatrickHua/SimSiam/issues/22
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def D(p, z, version='simplified'):  # negative cosine similarity
    if version == 'original':
        z = z.detach()  # stop gradient
        p = F.normalize(p, dim=1)
        z = F.normalize(z, dim=1)
        return -(p * z).sum(dim=1).mean()
    elif version == 'simplified':
        return -F.cosine_similarity(p, z.detach(), dim=-1).mean()
    else:
        raise Exception


class projection_MLP(nn.Module):
    def __init__(self, in_dim, hidden_dim=64, out_dim=32):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(inplace=True))
        self.layer2 = nn.Sequential(nn.Linear(hidden_dim, out_dim), nn.BatchNorm1d(out_dim, affine=False))

    def forward(self, x):
        return self.layer2(self.layer1(x))


class prediction_MLP(nn.Module):
    def __init__(self, in_dim=32, hidden_dim=16, out_dim=32):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(inplace=True))
        self.layer2 = nn.Linear(hidden_dim, out_dim)

    def forward(self, x):
        return self.layer2(self.layer1(x))


class SimSiam(nn.Module):
    def __init__(self, backbone, output_dim):
        super().__init__()
        self.backbone = backbone
        self.projector = projection_MLP(output_dim)
        self.encoder = nn.Sequential(self.backbone, self.projector)
        self.predictor = prediction_MLP()

    def forward(self, x1, x2):
        f, h = self.encoder, self.predictor
        z1, z2 = f(x1), f(x2)
        p1, p2 = h(z1), h(z2)
        L = D(p1, z2) / 2 + D(p2, z1) / 2
        return {'loss': L, 'std': F.normalize(z1.detach(), dim=1).std(0).mean()}


class LR_Scheduler(object):
    """Cosine for the encoder; groups marked fix_lr keep theirs, as the paper advises for the predictor."""

    def __init__(self, optimizer, base_lr, total, warmup):
        self.optimizer, self.base_lr, self.iter = optimizer, base_lr, 0
        self.schedule = [base_lr * (i + 1) / warmup if i < warmup else
                         0.5 * base_lr * (1 + math.cos(math.pi * (i - warmup) / (total - warmup))) for i in range(total)]

    def step(self):
        for group in self.optimizer.param_groups:
            group['lr'] = self.base_lr if group.get('fix_lr') else self.schedule[self.iter]
        self.iter += 1


CENTERS = torch.randn(5, 20, generator=torch.Generator().manual_seed(42))
NUISANCE = torch.randn(8, 20, generator=torch.Generator().manual_seed(43))


def draw(n):
    y = torch.randint(0, 5, (n,))
    return CENTERS[y], y


def augment(base):
    x = base + 0.7 * torch.randn(len(base), 8) @ NUISANCE * 0.3
    return x * (torch.rand_like(x) > 0.1) + 0.1 * torch.randn_like(x)


@torch.no_grad()
def knn_monitor(net, n_memory=300, n_test=150, k=15):
    net.eval()
    bank, labels = draw(n_memory)
    query, truth = draw(n_test)
    bank, query = F.normalize(net(augment(bank)), dim=1), F.normalize(net(augment(query)), dim=1)
    votes = labels[(query @ bank.t()).topk(k, dim=1).indices]
    pred = F.one_hot(votes, 5).sum(1).argmax(1)
    return (pred == truth).float().mean().item()


def main(iters=160, batch=64):
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 48))
    model = SimSiam(backbone, 48)
    predictor_prefix = ('module.predictor', 'predictor')
    parameters = [
        {'name': 'base', 'params': [p for n, p in model.named_parameters() if not n.startswith(predictor_prefix)]},
        {'name': 'predictor', 'fix_lr': True, 'params': [p for n, p in model.named_parameters() if n.startswith(predictor_prefix)]},
    ]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = LR_Scheduler(optimizer, 0.05, iters, warmup=10)
    for it in range(iters):
        model.train()
        scheduler.step()
        base, _ = draw(batch)
        data_dict = model(augment(base), augment(base))
        loss = data_dict['loss']
        model.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 40 == 39:
            print('iter %d loss %.4f std %.4f knn %.3f' % (it + 1, loss.item(), data_dict['std'].item(), knn_monitor(model.backbone)))


if __name__ == '__main__':
    main()
