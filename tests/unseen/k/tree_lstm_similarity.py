"""WRONG. With freeze_embed the Tree-LSTM starts, but with trainable word vectors the constructor of the model raises "a leaf Variable that requires grad is being used in an in-place operation".
TRUTH: self.emb.weight.copy_(init_emb) is a recorded in-place write on a parameter that requires grad; the pretrained vectors must be copied outside autograd: with torch.no_grad(): (or self.emb.weight.data.copy_).
THREAD: https://github.com/dasguptar/treelstm.pytorch/pull/26
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)

args = dict(vocab=30, emb_dim=12, mem_dim=16, hidden_dim=10, classes=2, lr=0.02, wd=1e-4, epochs=3, batchsize=8, freeze_embed=False)


class Tree:
    def __init__(self, word):
        self.word = word
        self.children = []
        self.state = None

    def size(self):
        return 1 + sum(c.size() for c in self.children)


def random_tree(words):
    nodes = [Tree(w) for w in words]
    for i in range(1, len(nodes)):
        nodes[random.randrange(i)].children.append(nodes[i])
    return nodes[0]


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, in_dim, mem_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim)
        self.fx = nn.Linear(in_dim, mem_dim)
        self.fh = nn.Linear(mem_dim, mem_dim)

    def node_forward(self, inputs, child_c, child_h):
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        iou = self.ioux(inputs) + self.iouh(child_h_sum)
        i, o, u = torch.split(iou, self.mem_dim, dim=1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        c = i * u + torch.sum(f * child_c, dim=0, keepdim=True)
        return c, o * torch.tanh(c)

    def forward(self, tree, emb):
        states = [self.forward(child, emb) for child in tree.children]
        inputs = emb(torch.tensor([tree.word]))
        if states:
            child_c, child_h = (torch.cat(s, dim=0) for s in zip(*states))
        else:
            child_c = child_h = torch.zeros(1, self.mem_dim)
        return self.node_forward(inputs, child_c, child_h)


class Similarity(nn.Module):
    def __init__(self, mem_dim, hidden_dim, num_classes):
        super().__init__()
        self.wh = nn.Linear(2 * mem_dim, hidden_dim)
        self.wp = nn.Linear(hidden_dim, num_classes)

    def forward(self, lvec, rvec):
        vec_dist = torch.cat((lvec * rvec, torch.abs(lvec - rvec)), 1)
        return F.log_softmax(self.wp(torch.sigmoid(self.wh(vec_dist))), dim=1)


class SimilarityTreeLSTM(nn.Module):
    def __init__(self, args, init_emb):
        super().__init__()
        self.emb = nn.Embedding(args["vocab"], args["emb_dim"], padding_idx=0)
        if args["freeze_embed"]:
            self.emb.weight.requires_grad = False
        self.emb.weight.copy_(init_emb)  # CULPRIT
        self.childsumtreelstm = ChildSumTreeLSTM(args["emb_dim"], args["mem_dim"])
        self.similarity = Similarity(args["mem_dim"], args["hidden_dim"], args["classes"])

    def forward(self, ltree, rtree):
        lstate, lhidden = self.childsumtreelstm(ltree, self.emb)
        rstate, rhidden = self.childsumtreelstm(rtree, self.emb)
        return self.similarity(lstate, rstate)


def make_dataset(n):
    data = []
    for k in range(n):
        words = [random.randint(1, args["vocab"] - 1) for _ in range(5)]
        other = random.sample(words, 5) if k % 2 else [random.randint(1, args["vocab"] - 1) for _ in range(5)]
        data.append((random_tree(words), random_tree(other), torch.tensor([k % 2])))
    return data


def train_epoch(model, data, optimizer, criterion):
    random.shuffle(data)
    total = 0.0
    optimizer.zero_grad()
    for idx, (ltree, rtree, label) in enumerate(data):
        loss = criterion(model(ltree, rtree), label)
        total += loss.item()
        (loss / args["batchsize"]).backward()
        if idx % args["batchsize"] == args["batchsize"] - 1:
            optimizer.step()
            optimizer.zero_grad()
    return total / len(data)


def main():
    glove = torch.randn(args["vocab"], args["emb_dim"])
    glove[0].zero_()
    model = SimilarityTreeLSTM(args, glove)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=args["lr"], weight_decay=args["wd"])
    data = make_dataset(64)
    for epoch in range(args["epochs"]):
        print(f"epoch {epoch}  loss {train_epoch(model, data, optimizer, nn.NLLLoss()):.4f}  "
              f"embedding moved {(model.emb.weight.detach() - glove).norm():.3f}")


if __name__ == "__main__":
    main()
