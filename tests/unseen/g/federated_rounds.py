"""WRONG. RuntimeError: Can't call numpy() on Tensor that requires grad, in the server's evaluate().
TRUTH: the users' test losses are tensors that still carry a graph and the server averages them with numpy; detach (or .item(), or no_grad in test) before numpy sees them.
THREAD: https://github.com/zhuangdizhu/FedGen/issues/1
"""
import copy
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, dim=10, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.ReLU())
        self.decoder = nn.Linear(24, classes)

    def forward(self, x):
        return {'output': torch.log_softmax(self.decoder(self.encoder(x)), dim=1)}


class User:
    def __init__(self, uid, model, train_data, test_data, lr, local_epochs):
        self.id = uid
        self.model = copy.deepcopy(model)
        self.loss = nn.NLLLoss()
        self.train_samples, self.test_samples = len(train_data), len(test_data)
        self.trainloader = DataLoader(train_data, batch_size=16, shuffle=True, drop_last=True)
        self.testloaderfull = DataLoader(test_data, self.test_samples)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.local_epochs = local_epochs

    def set_parameters(self, model):
        for old_param, new_param in zip(self.model.parameters(), model.parameters()):
            old_param.data = new_param.data.clone()

    def train(self):
        self.model.train()
        for _ in range(self.local_epochs):
            for x, y in self.trainloader:
                self.optimizer.zero_grad()
                loss = self.loss(self.model(x)['output'], y)
                loss.backward()
                self.optimizer.step()

    def test(self):
        self.model.eval()
        test_acc, loss = 0, 0
        for x, y in self.testloaderfull:
            output = self.model(x)['output']
            loss += self.loss(output, y)  # CULPRIT
            test_acc += torch.sum(torch.argmax(output, dim=1) == y).item()
        return test_acc, loss, y.shape[0]


class Server:
    def __init__(self, model, users, frac=0.6):
        self.model, self.users, self.frac = model, users, frac
        self.metrics = {'glob_acc': [], 'glob_loss': []}

    def select_users(self, rng):
        k = max(1, int(self.frac * len(self.users)))
        return [self.users[i] for i in rng.choice(len(self.users), k, replace=False)]

    def send_parameters(self):
        for user in self.users:
            user.set_parameters(self.model)

    def aggregate_parameters(self, selected):
        total = sum(u.train_samples for u in selected)
        for param in self.model.parameters():
            param.data = torch.zeros_like(param.data)
        for user in selected:
            for server_param, user_param in zip(self.model.parameters(), user.model.parameters()):
                server_param.data = server_param.data + user_param.data * user.train_samples / total

    def evaluate(self, round_no):
        test_samples, test_accs, test_losses = [], [], []
        for user in self.users:
            acc, loss, ns = user.test()
            test_accs.append(acc)
            test_samples.append(ns)
            test_losses.append(loss)
        glob_acc = np.sum(test_accs) * 1.0 / np.sum(test_samples)
        glob_loss = np.sum([x * y for (x, y) in zip(test_samples, test_losses)]).item() / np.sum(test_samples)  # CULPRIT
        self.metrics['glob_acc'].append(glob_acc)
        self.metrics['glob_loss'].append(glob_loss)
        print('round %d: accuracy %.4f, loss %.3f' % (round_no, glob_acc, glob_loss))

    def train(self, rounds, rng):
        for r in range(rounds):
            self.send_parameters()
            self.evaluate(r)
            selected = self.select_users(rng)
            for user in selected:
                user.train()
            self.aggregate_parameters(selected)


def make_users(model, n_users=8, classes=4, dim=10):
    g = torch.Generator().manual_seed(5)
    centers = 2 * torch.randn(classes, dim, generator=g)
    users = []
    rng = np.random.default_rng(5)
    for uid in range(n_users):
        p = torch.tensor(rng.dirichlet([0.5] * classes), dtype=torch.float)
        y = torch.multinomial(p, 120, replacement=True, generator=g)
        x = centers[y] + torch.randn(120, dim, generator=g)
        users.append(User(uid, model, TensorDataset(x[:90], y[:90]), TensorDataset(x[90:], y[90:]), 0.05, 2))
    return users


if __name__ == '__main__':
    torch.manual_seed(5)
    net = Net()
    server = Server(net, make_users(net))
    server.train(10, np.random.default_rng(0))
