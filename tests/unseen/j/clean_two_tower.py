# kind: forward_under_no_grad
"""Two-tower retrieval: user histories against item descriptions, in-batch negatives."""
import torch
import torch.nn.functional as F
from torch import nn


class UserTower(nn.Module):
    def __init__(self, n_items, dim):
        super().__init__()
        self.history = nn.EmbeddingBag(n_items, dim, mode="mean")
        self.proj = nn.Linear(dim, dim)

    def forward(self, clicks):
        return F.normalize(self.proj(torch.tanh(self.history(clicks))), dim=1)


class ItemTower(nn.Module):
    def __init__(self, n_features, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(n_features, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, features):
        return F.normalize(self.mlp(features), dim=1)


class Retriever(nn.Module):
    def __init__(self, n_items, n_features, dim=24):
        super().__init__()
        self.user_tower = UserTower(n_items, dim)
        self.item_tower = ItemTower(n_features, dim)
        self.log_temp = nn.Parameter(torch.tensor(2.0))

    def embed_items(self, features, chunk=64):
        return torch.cat([self.item_tower(part) for part in features.split(chunk)])

    def scores(self, clicks, features):
        return self.log_temp.exp() * self.user_tower(clicks) @ self.embed_items(features).T

    def forward(self, clicks, features):
        """Symmetric contrastive loss over the pairs of a batch."""
        s = self.scores(clicks, features)
        target = torch.arange(len(s))
        return 0.5 * (F.cross_entropy(s, target) + F.cross_entropy(s.T, target))


def make_world(n_users=600, n_items=120, n_features=12, topics=8):
    topic_of_item = torch.arange(n_items) % topics
    features = torch.randn(topics, n_features)[topic_of_item] + 0.3 * torch.randn(n_items, n_features)
    taste = torch.randint(0, topics, (n_users,))
    per_topic = n_items // topics
    picks = torch.randint(0, per_topic, (n_users, 6)) * topics + taste[:, None]
    # five clicks of the past, and the click to predict
    return picks[:, :5], picks[:, 5], features


def recall_at(model, clicks, target, features, k=20):
    model.eval()
    with torch.no_grad():
        top = model.scores(clicks, features).topk(k, dim=1).indices
    model.train()
    return (top == target[:, None]).any(dim=1).float().mean().item()


def main():
    torch.manual_seed(1)
    clicks, target, features = make_world()
    model = Retriever(len(features), features.size(1))
    before = model.item_tower.mlp[0].weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        total, batches = 0.0, torch.randperm(len(clicks)).split(60)
        for idx in batches:
            loss = model(clicks[idx], features[target[idx]])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % 3 == 0:
            recall = recall_at(model, clicks, target, features)
            print(f"epoch {epoch} loss {total / len(batches):.3f} recall@20 {recall:.3f}")
    moved = (model.item_tower.mlp[0].weight - before).norm().item()
    print(f"item tower moved by {moved:.4f}")


if __name__ == "__main__":
    main()
