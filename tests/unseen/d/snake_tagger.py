"""zjunlp/HVPNeT#5
Symptom: the parameters of the tag layers (fc, transitions) never change although their group was built with its own learning rate.
EXPECT: runs
TRUTH: the last parameter group is filled but never given to the optimizer; pass parameters + [params].
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset


class HMNeTNERModel(nn.Module):
    def __init__(self, vocab, tags, visual_dim=8, hidden=24):
        super().__init__()
        self.bert = nn.ModuleDict({
            "embeddings": nn.Embedding(vocab, hidden),
            "encoder": nn.GRU(hidden, hidden // 2, batch_first=True, bidirectional=True),
        })
        self.encoder_conv = nn.Linear(visual_dim, hidden)
        self.gates = nn.Linear(hidden, hidden)
        self.fc = nn.Linear(hidden, tags)
        self.crf_transitions = nn.Parameter(torch.randn(tags, tags) * 0.5)

    def forward(self, input_ids, image):
        h, _ = self.bert["encoder"](self.bert["embeddings"](input_ids))
        visual = torch.tanh(self.encoder_conv(image)).unsqueeze(1)
        h = h + torch.sigmoid(self.gates(h)) * visual
        emissions = self.fc(h)
        probs = emissions.softmax(-1)
        from_prev = F.pad(probs[:, :-1] @ self.crf_transitions, (0, 0, 1, 0))
        return emissions + from_prev


class NERTrainer:
    def __init__(self, model, train_data, dev_data, args):
        self.model, self.train_data, self.dev_data, self.args = model, train_data, dev_data, args

    def multiModal_before_train(self):
        parameters = []
        params = {"lr": self.args["lr"], "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "bert" in name:
                params["params"].append(param)
        parameters.append(params)

        params = {"lr": self.args["lr"], "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "encoder_conv" in name or "gates" in name:
                params["params"].append(param)
        parameters.append(params)

        params = {"lr": 2e-2, "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "crf" in name or name.startswith("fc"):
                params["params"].append(param)
        self.optimizer = optim.AdamW(parameters)  # CULPRIT
        self.scheduler = optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: max(0.1, 1.0 - step / self.args["total_steps"]))

    def train(self):
        self.multiModal_before_train()
        fc_before = self.model.fc.weight.detach().clone()
        for epoch in range(self.args["num_epochs"]):
            self.model.train()
            avg_loss = 0.0
            for input_ids, image, labels in self.train_data:
                logits = self.model(input_ids, image)
                loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
                avg_loss += loss.item()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
            print("epoch %d  loss %.4f  dev acc %.3f" % (epoch, avg_loss / len(self.train_data), self.evaluate()))
        print("change of fc:", (self.model.fc.weight - fc_before).abs().max().item())

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        hits = [(self.model(i, v).argmax(-1) == y).float().mean().item() for i, v, y in self.dev_data]
        return sum(hits) / len(hits)


def make_posts(n, vocab, tags, table):
    ids = torch.randint(0, vocab, (n, 10))
    image = torch.randn(n, 8)
    labels = (table[ids] + (image[:, :1] > 0).long()) % tags
    return TensorDataset(ids, image, labels)


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    vocab, tags = 50, 7
    table = torch.randint(0, tags, (vocab,))
    train_data = DataLoader(make_posts(480, vocab, tags, table), batch_size=16, shuffle=True)
    dev_data = DataLoader(make_posts(160, vocab, tags, table), batch_size=40)
    args = {"lr": 1e-3, "num_epochs": 8, "total_steps": 400}
    NERTrainer(HMNeTNERModel(vocab, tags), train_data, dev_data, args).train()
