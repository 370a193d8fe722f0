"""shaoxiongji/federated-learning#9
Symptom: The MLP of the federated training stays around 90 %, and learns slowly; I expected 95-97 %.
EXPECT: runs
TRUTH: the model returns softmax probabilities and CrossEntropyLoss applies log_softmax again; return the raw scores.
"""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class MLP(nn.Module):
    def __init__(self, dim_in, dim_hidden, dim_out):
        super().__init__()
        self.layer_input = nn.Linear(dim_in, dim_hidden)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.1)
        self.layer_hidden = nn.Linear(dim_hidden, dim_out)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = x.view(-1, x.shape[1] * x.shape[-2] * x.shape[-1])
        x = self.layer_input(x)
        x = self.dropout(x)
        x = self.relu(x)
        x = self.layer_hidden(x)
        return self.softmax(x)  # CULPRIT


class LocalUpdate:
    def __init__(self, args, dataset, idxs):
        self.args = args
        self.loss_func = nn.CrossEntropyLoss()
        self.ldr_train = DataLoader(Subset(dataset, idxs), batch_size=args["local_bs"], shuffle=True)

    def train(self, net):
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=self.args["lr"], momentum=0.5)
        epoch_loss = []
        for _ in range(self.args["local_ep"]):
            for images, labels in self.ldr_train:
                net.zero_grad()
                log_probs = net(images)
                loss = self.loss_func(log_probs, labels)
                loss.backward()
                optimizer.step()
                epoch_loss.append(loss.item())
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)


def fed_avg(w):
    w_avg = copy.deepcopy(w[0])
    for k in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[k] += w[i][k]
        w_avg[k] = torch.div(w_avg[k], len(w))
    return w_avg


def test_img(net_g, dataset):
    net_g.eval()
    x, y = dataset.tensors
    with torch.no_grad():
        y_pred = net_g(x).argmax(1)
    return 100.0 * (y_pred == y).float().mean().item()


def make_digits(n, protos):
    y = torch.randint(0, 10, (n,))
    x = protos[y] + 1.2 * torch.randn(n, 1, 12, 12)
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    args = {"epochs": 8, "num_users": 8, "frac": 0.5, "local_ep": 2, "local_bs": 20, "lr": 0.02}
    protos = 0.5 * torch.randn(10, 1, 12, 12)
    train_set, test_set = make_digits(2400, protos), make_digits(1000, protos)
    all_idxs = torch.randperm(len(train_set)).tolist()
    per_user = len(train_set) // args["num_users"]
    dict_users = {u: all_idxs[u * per_user:(u + 1) * per_user] for u in range(args["num_users"])}

    net_glob = MLP(144, 64, 10)
    w_glob = net_glob.state_dict()
    for rnd in range(args["epochs"]):
        w_locals, loss_locals = [], []
        m = max(int(args["frac"] * args["num_users"]), 1)
        for user in torch.randperm(args["num_users"])[:m].tolist():
            local = LocalUpdate(args, train_set, dict_users[user])
            w, loss = local.train(copy.deepcopy(net_glob))
            w_locals.append(copy.deepcopy(w))
            loss_locals.append(loss)
        w_glob = fed_avg(w_locals)
        net_glob.load_state_dict(w_glob)
        print("Round {:3d}, Average loss {:.3f}, test acc {:.1f}".format(
            rnd, sum(loss_locals) / len(loss_locals), test_img(net_glob, test_set)))
