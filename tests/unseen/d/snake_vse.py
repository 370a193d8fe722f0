"""fartashf/vsepp#4
Symptom: dropout and batch norm are only active in the first val_step iterations of each epoch, the rest trains in evaluation mode.
EXPECT: runs
TRUTH: validate() inside the loop switches to eval mode and nothing switches back until the next epoch; call model.train_start() per batch (or after validate).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def l2norm(x):
    return x / (x.norm(dim=1, keepdim=True) + 1e-8)


class EncoderImage(nn.Module):
    def __init__(self, img_dim, embed_size):
        super().__init__()
        self.bn = nn.BatchNorm1d(img_dim)
        self.fc = nn.Linear(img_dim, embed_size)
        self.drop = nn.Dropout(0.5)

    def forward(self, images):
        return l2norm(self.fc(self.drop(self.bn(images))))


class EncoderText(nn.Module):
    def __init__(self, vocab_size, word_dim, embed_size):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab_size, word_dim)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(word_dim, embed_size)

    def forward(self, captions):
        return l2norm(self.fc(self.drop(self.embed(captions))))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.margin = margin

    def forward(self, im, s):
        scores = im @ s.t()
        diagonal = scores.diag().view(-1, 1)
        cost_s = (self.margin + scores - diagonal).clamp(min=0)
        cost_im = (self.margin + scores - diagonal.t()).clamp(min=0)
        mask = torch.eye(scores.size(0)) > 0.5
        return cost_s.masked_fill(mask, 0).sum() + cost_im.masked_fill(mask, 0).sum()


class VSE:
    def __init__(self, opt):
        self.img_enc = EncoderImage(opt["img_dim"], opt["embed_size"])
        self.txt_enc = EncoderText(opt["vocab_size"], opt["word_dim"], opt["embed_size"])
        self.criterion = ContrastiveLoss(opt["margin"])
        self.params = list(self.txt_enc.parameters()) + list(self.img_enc.parameters())
        self.optimizer = torch.optim.Adam(self.params, lr=opt["lr"])
        self.Eiters = 0

    def train_start(self):
        self.img_enc.train()
        self.txt_enc.train()

    def val_start(self):
        self.img_enc.eval()
        self.txt_enc.eval()

    def forward_emb(self, images, captions):
        return self.img_enc(images), self.txt_enc(captions)

    def train_emb(self, images, captions):
        self.Eiters += 1
        img_emb, cap_emb = self.forward_emb(images, captions)
        self.optimizer.zero_grad()
        loss = self.criterion(img_emb, cap_emb)
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 2.0)
        self.optimizer.step()
        return loss.item()


def validate(opt, val_loader, model):
    model.val_start()
    ranks, loss = [], 0.0
    with torch.no_grad():
        for images, captions in val_loader:
            im, s = model.forward_emb(images, captions)
            loss += model.criterion(im, s).item()
            scores = im @ s.t()
            ranks.append((scores.argmax(1) == torch.arange(len(im))).float().mean().item())
    if model.Eiters % 120 == 0:
        print("iter %4d  val loss %.1f  R@1 %.3f  running var of images %.2f" % (
            model.Eiters, loss / len(val_loader), sum(ranks) / len(ranks), model.img_enc.bn.running_var.mean().item()))


def train(opt, train_loader, model, val_loader):
    model.train_start()  # CULPRIT
    for images, captions in train_loader:
        model.train_emb(images, captions)
        if model.Eiters % opt["val_step"] == 0:
            validate(opt, val_loader, model)  # CULPRIT


def make_pairs(n, opt, words, proj):
    captions = torch.randint(0, opt["vocab_size"], (n, 6))
    topic = words[captions].mean(1)
    images = 4.0 * (topic @ proj) + 3.0 + 4.0 * torch.randn(n, opt["img_dim"])
    return TensorDataset(images, captions)


if __name__ == "__main__":
    torch.manual_seed(5)
    torch.set_num_threads(1)
    opt = dict(img_dim=40, embed_size=32, vocab_size=80, word_dim=32, margin=0.2, lr=1e-2, val_step=4)
    words, proj = torch.randn(80, 12), torch.randn(12, 40)
    train_loader = DataLoader(make_pairs(120, opt, words, proj), batch_size=10, shuffle=True)
    val_loader = DataLoader(make_pairs(200, opt, words, proj), batch_size=50)
    model = VSE(opt)
    for epoch in range(60):
        train(opt, train_loader, model, val_loader)
