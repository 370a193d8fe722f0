"""WRONG. Training with the triplet loss on the selected hard triplets has no effect on the embeddings.
TRUTH: The hard triplets are selected by way of .data.numpy(), which cuts them from the graph, so no gradient of the triplet loss is calculated; index the tensors, out_a[hard_triplets].
THREAD: https://github.com/liorshk/facenet_pytorch/issues/6
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)

n_people, img_dim = 20, 40


class PairwiseDistance(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.norm = p

    def forward(self, x1, x2):
        eps = 1e-4 / x1.size(1)
        diff = torch.abs(x1 - x2)
        out = torch.pow(diff, self.norm).sum(dim=1)
        return torch.pow(out + eps, 1. / self.norm)


l2_dist = PairwiseDistance(2)


class TripletMarginLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        d_p = l2_dist(anchor, positive)
        d_n = l2_dist(anchor, negative)
        dist_hinge = torch.clamp(self.margin + d_p - d_n, min=0.0)
        return torch.mean(dist_hinge)


class FaceModel(nn.Module):
    def __init__(self, embedding_size, num_classes):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(img_dim, 64), nn.ReLU(), nn.Linear(64, embedding_size))
        self.classifier = nn.Linear(embedding_size, num_classes)

    def forward(self, x):
        return 10 * F.normalize(self.model(x), dim=1)

    def forward_classifier(self, x):
        return self.classifier(self.forward(x))


identity = torch.randn(n_people, img_dim)
lighting = 2.5 * torch.randn(6, img_dim)


def photo(person):
    return identity[person] + torch.randn(len(person), 6) @ lighting + 0.3 * torch.randn(len(person), img_dim)


def triplet_batch(n):
    c1 = torch.randint(0, n_people, (n,))
    c2 = (c1 + torch.randint(1, n_people, (n,))) % n_people
    return photo(c1), photo(c1), photo(c2), c1, c2


margin = 2.0
model = FaceModel(16, n_people)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)


def select(out, rows):
    return torch.from_numpy(out.data.numpy()[rows])  # CULPRIT


def verification_accuracy(n=1000):
    with torch.no_grad():
        a, p, q, _, _ = triplet_batch(n)
        return (l2_dist(model(a), model(p)) < l2_dist(model(a), model(q))).float().mean().item()


for epoch in range(5):
    sums, count = np.zeros(2), 0
    for batch_idx in range(60):
        data_a, data_p, data_n, label_p, label_n = triplet_batch(64)
        out_a, out_p, out_n = model(data_a), model(data_p), model(data_n)

        # Choose the hard negatives
        d_p = l2_dist(out_a, out_p)
        d_n = l2_dist(out_a, out_n)
        hard = (d_n - d_p < margin).data.numpy().flatten()
        hard_triplets = np.where(hard == 1)[0]
        if len(hard_triplets) == 0:
            continue
        out_selected_a = select(out_a, hard_triplets)
        out_selected_p = select(out_p, hard_triplets)
        out_selected_n = select(out_n, hard_triplets)
        triplet_loss = TripletMarginLoss(margin)(out_selected_a, out_selected_p, out_selected_n)

        cls_a = model.classifier(out_a[hard_triplets].detach())
        cross_entropy_loss = F.cross_entropy(cls_a, label_p[hard_triplets])
        loss = cross_entropy_loss + triplet_loss

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += [triplet_loss.item(), cross_entropy_loss.item()]
        count += 1
    print('Train Epoch: %d  triplet %.3f  class %.3f  verification %.3f' % (
        epoch, sums[0] / count, sums[1] / count, verification_accuracy()))
