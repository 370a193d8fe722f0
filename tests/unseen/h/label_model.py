"""WRONG. Memory use increases with every training step until the machine runs out of memory and the process exits.
TRUTH: running_loss sums the loss tensors with their graphs, so the graph of every batch of an epoch is kept; add loss.item().
THREAD: https://github.com/BatsResearch/labelmodels/issues/4
"""
import logging

import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)
np.random.seed(0)
logging.basicConfig(level=logging.INFO, format='%(message)s')


class NaiveBayes(nn.Module):
    """generative label model: labeling functions are independent given the class"""

    def __init__(self, num_classes, num_lfs, init_acc=.8, acc_prior=0.025):
        super().__init__()
        init_param = -np.log((1.0 / init_acc) - 1)
        self.accuracy = nn.Parameter(torch.full((num_lfs, num_classes), float(init_param)))
        self.propensity = nn.Parameter(torch.zeros(num_lfs))
        self.class_prior = nn.Parameter(torch.zeros(num_classes))
        self.num_classes = num_classes
        self.num_lfs = num_lfs
        self.acc_prior = acc_prior
        self.init_param = float(init_param)

    def forward(self, votes):
        """log likelihood of each row of votes (0 = abstain, k = class k)"""
        class_ll = torch.log_softmax(self.class_prior, 0)
        return torch.logsumexp(class_ll + self._cll(votes), dim=1)

    def _cll(self, votes):
        log_acc = nn.functional.logsigmoid(self.accuracy)
        log_err = nn.functional.logsigmoid(-self.accuracy) - np.log(max(self.num_classes - 1, 1))
        log_vote = nn.functional.logsigmoid(self.propensity)
        log_abstain = nn.functional.logsigmoid(-self.propensity)
        voted = (votes > 0).float()
        cll = (voted * log_vote + (1 - voted) * log_abstain).sum(1, keepdim=True)
        cll = cll.expand(-1, self.num_classes)
        per_class = []
        for k in range(self.num_classes):
            right = (votes == k + 1).float()
            wrong = voted - right
            per_class.append(right @ log_acc[:, k] + wrong @ log_err[:, k])
        return cll + torch.stack(per_class, 1)

    def get_label_distribution(self, votes):
        with torch.no_grad():
            jll = torch.log_softmax(self.class_prior, 0) + self._cll(votes)
            return torch.softmax(jll, 1)

    def _get_regularization_loss(self):
        return self.acc_prior * ((self.accuracy - self.init_param) ** 2).sum()

    def _do_estimate_label_model(self, batches, epochs=5, step_size=0.01):
        optimizer = torch.optim.Adam(self.parameters(), lr=step_size)
        scheduler = ReduceLROnPlateau(optimizer, patience=1, threshold=1e-2)

        for epoch in range(epochs):
            self.train()
            running_loss = 0.0
            epoch_size = 0
            for i_batch, inputs in enumerate(batches):
                optimizer.zero_grad()
                log_likelihood = self(inputs)
                loss = -1 * torch.mean(log_likelihood)
                loss += self._get_regularization_loss()
                loss.backward()
                optimizer.step()
                running_loss += loss  # CULPRIT
                epoch_size += 1
            epoch_loss = running_loss / epoch_size
            logging.info('Epoch %d  train loss: %.6f', epoch + 1, epoch_loss)
            scheduler.step(epoch_loss)


def simulate(n=6000, num_lfs=8, num_classes=2):
    y = np.random.randint(0, num_classes, n)
    acc = np.random.uniform(0.65, 0.95, num_lfs)
    votes = np.zeros((n, num_lfs), dtype=int)
    for j in range(num_lfs):
        fires = np.random.rand(n) < 0.6
        right = np.random.rand(n) < acc[j]
        other = (y + 1) % num_classes
        votes[:, j] = np.where(fires, np.where(right, y, other) + 1, 0)
    return torch.tensor(votes), torch.tensor(y)


votes, y = simulate()
model = NaiveBayes(2, votes.size(1))
model._do_estimate_label_model(votes.split(64), epochs=6)
pred = model.get_label_distribution(votes).argmax(1)
print('accuracy %.3f' % (pred == y).float().mean().item())
