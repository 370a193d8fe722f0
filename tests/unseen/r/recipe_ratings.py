"""Predicts the rating of recipes from padded lists of ingredients with scaled dot product attention.

TRUTH: the padding mask is turned into floats, which scaled_dot_product_attention adds to the scores (1 for ingredients, 0 for padding), so padding still takes part (longer padding changes the rating); pass the boolean mask.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class RecipeRater(nn.Module):
    def __init__(self, ingredients, dim=16, heads=2):
        super().__init__()
        self.embed = nn.Embedding(ingredients, dim)
        self.query = nn.Parameter(torch.randn(heads, 1, dim // heads))
        self.kv = nn.Linear(dim, 2 * dim)
        self.rate = nn.Sequential(nn.Linear(dim, 16), nn.SiLU(), nn.Linear(16, 1), nn.Flatten(0))
        self.heads = heads

    def forward(self, recipe):
        b, n = recipe.shape
        split = lambda x: x.view(b, n, self.heads, -1).transpose(1, 2)
        key, value = map(split, self.kv(self.embed(recipe)).chunk(2, dim=-1))
        listed = (recipe != PAD)[:, None, None, :]
        query = self.query.expand(b, -1, -1, -1)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=listed.to(query.dtype))  # CULPRIT
        return self.rate(mixed.flatten(1))


def collate(recipes, width=None):
    width = width or max(map(len, recipes))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in recipes])


class Cookbook:
    def __init__(self, ingredients, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.taste = torch.randn(ingredients, generator=self.generator)

    def draw(self, n):
        sizes = torch.randint(2, 13, (n,), generator=self.generator).tolist()
        high = len(self.taste)
        recipes = [torch.randint(1, high, (s,), generator=self.generator).tolist() for s in sizes]
        return recipes, torch.stack([self.taste[r].mean() for r in recipes])


def main():
    torch.manual_seed(37)
    book, model = Cookbook(40, seed=38), RecipeRater(40)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(300):
        recipes, rating = book.draw(64)
        loss = F.mse_loss(model(collate(recipes)), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == 299:
            print(f"step {step:3d} loss {loss.item():.4f}")
    recipes, _ = book.draw(5)
    with torch.no_grad():
        for width in (12, 30):
            print(f"padded to {width}:", [round(v, 3) for v in model(collate(recipes, width)).tolist()])


if __name__ == "__main__":
    main()
