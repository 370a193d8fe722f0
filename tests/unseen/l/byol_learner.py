"""WRONG. Constructing the learner fails: "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment".
TRUTH: the wrapper keeps the hooked activation in self.hidden after the first forward, so that copy.deepcopy(self.online_encoder) meets a non-leaf tensor. Clear it after it has been read in get_representation (`hidden, self.hidden = self.hidden, None`), or run the initialising forward without grad.
THREAD: https://github.com/lucidrains/byol-pytorch/issues/52
"""
import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        ma_params.data = ema_updater.update_average(ma_params.data, current_params.data)
    for current_buf, ma_buf in zip(current_model.buffers(), ma_model.buffers()):
        ma_buf.copy_(current_buf)


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size),
                         nn.ReLU(), nn.Linear(hidden_size, projection_size))


class NetWrapper(nn.Module):
    def __init__(self, net, projection_size, layer):
        super().__init__()
        self.net = net
        self.layer = layer
        self.projector = None
        self.projection_size = projection_size
        self.hidden = None
        dict(self.net.named_modules())[self.layer].register_forward_hook(self._hook)

    def _hook(self, _, inputs, output):
        self.hidden = output.flatten(1)

    def _get_projector(self, hidden):
        if self.projector is None:
            self.projector = MLP(hidden.shape[1], self.projection_size)
        return self.projector

    def get_representation(self, x):
        self.net(x)
        hidden = self.hidden  # CULPRIT
        assert hidden is not None, f"hidden layer {self.layer} never emitted an output"
        return hidden

    def forward(self, x):
        representation = self.get_representation(x)
        projector = self._get_projector(representation)
        return projector(representation)


class BYOL(nn.Module):
    def __init__(self, net, image_size, hidden_layer="pool", projection_size=16, moving_average_decay=0.95):
        super().__init__()
        self.online_encoder = NetWrapper(net, projection_size, layer=hidden_layer)
        self.online_predictor = MLP(projection_size, projection_size)
        self.target_encoder = None
        self.target_ema_updater = EMA(moving_average_decay)
        self.forward(torch.randn(2, 3, image_size, image_size))

    def _get_target_encoder(self):
        if self.target_encoder is None:
            self.target_encoder = copy.deepcopy(self.online_encoder)
            self.target_encoder.requires_grad_(False)
        return self.target_encoder

    def update_moving_average(self):
        update_moving_average(self.target_ema_updater, self.target_encoder, self.online_encoder)

    def augment(self, x):
        return x + 0.1 * torch.randn_like(x)

    def forward(self, x):
        image_one, image_two = self.augment(x), self.augment(x)
        pred_one = self.online_predictor(self.online_encoder(image_one))
        pred_two = self.online_predictor(self.online_encoder(image_two))
        with torch.no_grad():
            target_encoder = self._get_target_encoder()
            target_one, target_two = target_encoder(image_one), target_encoder(image_two)
        return (loss_fn(pred_one, target_two) + loss_fn(pred_two, target_one)).mean()


class SmallNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(),
                                      nn.Conv2d(12, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.fc(self.pool(self.features(x)).flatten(1))


def sample_unlabelled_images():
    base = torch.randn(16, 3, 1, 1)
    return base + 0.3 * torch.randn(16, 3, 16, 16)


if __name__ == "__main__":
    net = SmallNet()
    learner = BYOL(net, image_size=16, hidden_layer="pool")
    trainable = [p for p in learner.parameters() if p.requires_grad]
    opt = torch.optim.Adam(trainable, lr=3e-3)
    for step in range(30):
        loss = learner(sample_unlabelled_images())
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
        if step % 10 == 0 or step == 29:
            print(f"step {step:3d} loss {loss.item():.4f}")
    print("saved keys:", len(net.state_dict()))
