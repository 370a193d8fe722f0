"""What the user sees: my sentence CNN learns something but stays far behind what the paper gives; after .cuda() the
Conv1d submodules are still in CPU mode; when I count the parameters there are less than expected.

TRUTH: the Conv1d modules are kept in a plain python list, so they are not in parameters() and the optimizer never
updates them. Fix: nn.ModuleList([...]).
THREAD: https://github.com/pytorch/pytorch/issues/1053 "submodules defined in list are not auto-registered as parameters"
"""
import torch as th
import torch.nn.functional as F

th.manual_seed(5)


class config:
    WORD_VEC_SIZE = 6
    VOCAB = 60
    N_CLASSES = 3
    SENT_LEN = 20
    FILTERS = 4
    LR = 0.01
    EPOCHS = 6


class Net(th.nn.Module):
    def __init__(self):
        super(Net, self).__init__()

        self.emb = th.nn.Embedding(config.VOCAB, config.WORD_VEC_SIZE)
        self.emb.weight.requires_grad = False

        self.conv1d = [  # CULPRIT
            th.nn.Conv1d(config.WORD_VEC_SIZE, config.FILTERS, 3),
            th.nn.Conv1d(config.WORD_VEC_SIZE, config.FILTERS, 4),
            th.nn.Conv1d(config.WORD_VEC_SIZE, config.FILTERS, 5),
        ]
        self.dropout = th.nn.Dropout(0.1)
        self.fc = th.nn.Linear(3 * config.FILTERS, config.N_CLASSES)

    def forward(self, tokens):
        x = self.emb(tokens).transpose(1, 2)
        feats = []
        for conv in self.conv1d:
            c = F.relu(conv(x))
            feats.append(F.max_pool1d(c, c.shape[2]).squeeze(2))
        return self.fc(self.dropout(th.cat(feats, 1)))


def make_corpus(n):
    y = th.randint(0, config.N_CLASSES, (n,))
    x = th.randint(10, config.VOCAB, (n, config.SENT_LEN))
    phrases = th.tensor([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    pos = th.randint(0, config.SENT_LEN - 3, (n,))
    for i in range(n):
        x[i, pos[i]:pos[i] + 3] = phrases[y[i]]
    return x, y


def train(net, x, y, optimizer):
    net.train()
    perm = th.randperm(len(x))
    total = 0
    for i in range(0, len(x), 50):
        b = perm[i:i + 50]
        loss = F.cross_entropy(net(x[b]), y[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(b)
    return total / len(x)


def test(net, x, y):
    net.eval()
    with th.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


x, y = make_corpus(3000)
xt, yt = make_corpus(600)
net = Net()
print('trainable parameters:', sum(p.numel() for p in net.parameters() if p.requires_grad))
optimizer = th.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=config.LR)
for epoch in range(config.EPOCHS):
    loss = train(net, x, y, optimizer)
    print('epoch %d loss %.4f test acc %.3f' % (epoch, loss, test(net, xt, yt)))
