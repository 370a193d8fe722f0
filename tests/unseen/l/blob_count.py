"""WRONG. Counting with point labels: training begins with a loss several times too high, the BatchNorm statistics never change (num_batches_tracked is 0 at the end) and dropout seems to have no effect.
TRUTH: get_blob_dict puts the model into eval mode after compute_loss has called model.train(), and nothing puts it back, so loss and backward run in eval mode. Call model.train() after get_blob_dict (or restore the mode in get_blob_dict).
THREAD: https://github.com/ServiceNow/LCFCN/issues/20
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FCN(nn.Module):
    def __init__(self, n_classes=2, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.Dropout2d(0.1))
        self.score = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        return self.score(self.body(x))


@torch.no_grad()
def get_blob_dict(model, batch):
    model.eval()  # CULPRIT
    probs = F.softmax(model(batch["images"]), 1)
    fg = (probs[:, 1:] > 0.5).float()
    peak = F.max_pool2d(probs[:, 1:], 5, 1, 2) == probs[:, 1:]
    blobs = (peak & (fg > 0)).float()
    return {"mask": fg, "blobs": blobs, "n_blobs": int(blobs.sum())}


def image_loss(log_p, batch):
    counts = batch["counts"]
    fg_max = log_p[:, 1].flatten(1).max(1).values
    bg_max = log_p[:, 0].flatten(1).max(1).values
    return -(fg_max * (counts > 0).float()).mean() - bg_max.mean()


def point_loss(log_p, batch):
    points = batch["points"]
    target = torch.where(points > 0, 1, -100)
    return F.nll_loss(log_p, target, ignore_index=-100)


def split_loss(log_p, batch, blob_dict):
    near = F.max_pool2d(batch["points"][:, None].float(), 3, 1, 1)
    false = blob_dict["mask"] * (1 - near)
    weight = 1.0 + 0.1 * blob_dict["n_blobs"] / max(int(batch["counts"].sum()), 1)
    bg = -(log_p[:, :1] * (false + 0.2 * (1 - near))).sum() / (false + 0.2 * (1 - near)).sum()
    return weight * bg


def compute_loss(model, batch):
    model.train()  # CULPRIT
    blob_dict = get_blob_dict(model, batch)
    log_p = F.log_softmax(model(batch["images"]), 1)
    loss = image_loss(log_p, batch)
    loss = loss + point_loss(log_p, batch)
    loss = loss + split_loss(log_p, batch, blob_dict)
    return loss


def make_batch(n=4, size=20, generator=None):
    images = 60 + 4 * torch.randn(n, 1, size, size, generator=generator)
    points = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for _ in range(int(torch.randint(2, 5, (1,), generator=generator))):
            r, c = torch.randint(2, size - 2, (2,), generator=generator).tolist()
            points[i, r, c] = 1
            images[i, 0, r - 1:r + 2, c - 1:c + 2] += 40
    return {"images": images, "points": points, "counts": points.flatten(1).sum(1)}


@torch.no_grad()
def validate(model, batches):
    err = 0.0
    for b in batches:
        err += abs(get_blob_dict(model, b)["n_blobs"] - int(b["counts"].sum())) / len(b["counts"])
    return err / len(batches)


def main():
    gen = torch.Generator().manual_seed(11)
    model = FCN()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    val = [make_batch(generator=gen) for _ in range(4)]
    for it in range(60):
        loss = compute_loss(model, make_batch(generator=gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0 or it == 59:
            print("it %2d loss %.3f" % (it, loss.item()))
    print("val counting error per image %.2f" % validate(model, val))
    bn = model.body[1]
    print("batches seen by BatchNorm:", bn.num_batches_tracked.item(), "running mean", bn.running_mean[:3].tolist())


if __name__ == "__main__":
    main()
