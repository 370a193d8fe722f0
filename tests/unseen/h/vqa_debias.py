"""WRONG. With torch 1.7.1 backward of the discriminator raises "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: The bias generator's optimizer steps (modifying its weights in place) before the discriminator loss, which still reaches the generator's graph, is backpropagated; step the generator only after the discriminator's backward.
THREAD: https://github.com/chojw/genb/issues/6
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

V_DIM, Q_DIM, HID, N_ANS = 16, 12, 32, 6


class BaseModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_net = nn.Sequential(nn.Linear(Q_DIM, HID), nn.ReLU())
        self.v_net = nn.Sequential(nn.Linear(V_DIM, HID), nn.ReLU())
        self.classifier = nn.Sequential(nn.Linear(HID, HID), nn.ReLU(), nn.Linear(HID, N_ANS))

    def forward(self, v, q):
        return self.classifier(self.q_net(q) * self.v_net(v))


class GenB(nn.Module):
    """bias model: sees the question and noise instead of the image"""

    def __init__(self):
        super().__init__()
        self.generate = nn.Sequential(nn.Linear(8, HID), nn.ReLU(), nn.Linear(HID, V_DIM))
        self.base = BaseModel()

    def forward(self, v, q, gen=True):
        if gen:
            v = self.generate(torch.randn(q.size(0), 8))
        return self.base(v, q)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_ANS, HID), nn.ReLU(), nn.Linear(HID, 1))

    def forward(self, logits):
        return self.net(torch.sigmoid(logits))


def make_data(n=2048):
    v = torch.randn(n, V_DIM)
    q = torch.randn(n, Q_DIM)
    wv = torch.randn(V_DIM, N_ANS)
    wq = torch.randn(Q_DIM, N_ANS)
    label = (v @ wv * 0.5 + q @ wq).argmax(1)
    return v, q, F.one_hot(label, N_ANS).float()


def kd_loss(student, teacher):
    return F.binary_cross_entropy_with_logits(student, torch.sigmoid(teacher).detach())


def train(model, genb, discriminator, data, epochs=8, bs=64):
    optim = torch.optim.Adamax(model.parameters(), lr=1e-2)
    optim_G = torch.optim.Adamax(genb.parameters(), lr=5e-3)
    optim_D = torch.optim.Adamax(discriminator.parameters(), lr=5e-3)
    V, Q, A = data
    for epoch in range(epochs):
        total, correct = 0.0, 0
        for i in range(0, len(V), bs):
            v, q, a = V[i:i + bs], Q[i:i + bs], A[i:i + bs]
            pred = model(v, q)

            # train genb
            optim_G.zero_grad()
            optim_D.zero_grad()
            pred_g = genb(v, q, gen=True)
            g_loss = F.binary_cross_entropy_with_logits(pred_g, a)
            vae_preds = discriminator(pred_g)
            main_preds = discriminator(pred.detach())
            g_fool = F.binary_cross_entropy_with_logits(vae_preds, torch.ones_like(vae_preds))
            g_loss = g_loss + 0.1 * g_fool + kd_loss(pred_g, pred)
            g_loss.backward(retain_graph=True)
            optim_G.step()  # CULPRIT

            # train the discriminator
            optim_D.zero_grad()
            dsc_loss = F.binary_cross_entropy_with_logits(main_preds, torch.ones_like(main_preds)) \
                + F.binary_cross_entropy_with_logits(vae_preds, torch.zeros_like(vae_preds))
            dsc_loss.backward()
            optim_D.step()

            # train the target model against the bias
            optim.zero_grad()
            bias = torch.sigmoid(genb(v, q, gen=False)).detach()
            pseudo = torch.clamp(2 * a * torch.sigmoid(-2 * a * bias), 0, 1)
            loss = F.binary_cross_entropy_with_logits(pred, pseudo)
            loss.backward()
            optim.step()

            total += loss.item() * len(v)
            correct += (pred.argmax(1) == a.argmax(1)).sum().item()
        print('epoch %d, train_loss: %.3f, score: %.2f' % (epoch, total / len(V), 100 * correct / len(V)))


if __name__ == '__main__':
    train(BaseModel(), GenB(), Discriminator(), make_data())
