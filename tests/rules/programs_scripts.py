"""Programs as people post them when training goes wrong, and such as are right."""

from tests.rules.harness import case

_NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = [(torch.randn(6, 4), torch.randn(6, 2)) for _ in range(4)]
"""


def _script(text: str) -> str:
    return _NET.lstrip() + text.lstrip("\n")


WRONG = [
    case(
        "flag_after_the_forward_pass",
        _script("""
image, wanted = batches[0]
loss = F.mse_loss(net(image), wanted)
image.requires_grad_(True)  # CULPRIT
loss.backward()
attacked = image + 0.1 * image.grad.sign()
"""),
        "requires-grad-too-late",
        says=("`image`", "Move this line up"),
    ),
    case(
        "flag_before_autograd_grad",
        _script("""
points = torch.rand(5, 4)
out = net(points).sum()
points.requires_grad = True  # CULPRIT
slope, = torch.autograd.grad(out, points)
"""),
        "requires-grad-too-late",
    ),
    case(
        "update_in_two_lines",
        _script("""
adversary = batches[0][0].clone().requires_grad_(True)
for _ in range(3):
    F.mse_loss(net(adversary), batches[0][1]).backward()
    adversary = adversary + 0.1 * adversary.grad.sign()  # CULPRIT
    adversary = adversary.clamp(-1, 1)
"""),
        "reassigned-leaf",
    ),
    case(
        "target_is_the_prediction",
        _script("""
for state, _ in batches:
    q = net(state)
    target = q
    target[0, 1] = 1.0  # CULPRIT
    loss = F.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        says=("`q`", "clone()"),
    ),
    case(
        "target_is_a_detached_view",
        _script("""
for state, _ in batches:
    q = net(state)
    target = q.detach()
    target[0, 1] = 1.0  # CULPRIT
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        related=("made an alias here",),
    ),
    case(
        "cleared_in_the_inner_loop",
        _script("""
for epoch in range(3):
    for x, y in batches[:2]:
        optimizer.zero_grad()  # CULPRIT
        (F.mse_loss(net(x), y) / 2).backward()
    optimizer.step()
"""),
        "accumulated-gradients-dropped",
    ),
    case(
        "parameters_walked_twice",
        _script("""
weights = net.parameters()
optimizer = torch.optim.SGD(weights, lr=0.1)
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(weights, 1.0)  # CULPRIT
    optimizer.step()
"""),
        "clip-of-nothing",
    ),
    case(
        "best_weights_by_reference",
        _script("""
best = float("inf")
for x, y in batches:
    loss = F.mse_loss(net(x), y)
    if loss.item() < best:
        best, kept = loss.item(), net.state_dict()  # CULPRIT
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.load_state_dict(kept)
"""),
        "state-restored-from-itself",
    ),
    case(
        "optimizer_of_the_frozen_half",
        _script("""
net.requires_grad_(False)
head = nn.Linear(2, 1)
trainer = torch.optim.Adam(net.parameters(), lr=0.01)  # CULPRIT
for x, _ in batches:
    loss = head(net(x)).pow(2).mean()
    trainer.zero_grad()
    loss.backward()
    trainer.step()
"""),
        "forgotten-unfreeze",
        says=("which no optimizer has",),
    ),
    case(
        "critic_stays_frozen",
        _script("""
maker = nn.Linear(3, 4)
for x, _ in batches:
    fake = maker(torch.randn(6, 3)).detach()
    loss = net(fake).mean() - net(x).mean()
    loss.backward()
    for p in net.parameters():
        p.requires_grad_(False)  # CULPRIT
    (-net(maker(torch.randn(6, 3))).mean()).backward()
"""),
        "forgotten-unfreeze",
    ),
    case(
        "average_of_each_weight_keeps_graphs",
        _script("""
average = {name: p.detach().clone() for name, p in net.named_parameters()}
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    for name, p in net.named_parameters():
        average[name] = 0.9 * average[name] + 0.1 * p  # CULPRIT
"""),
        "loss-accumulation-leak",
    ),
    case(
        "state_kept_under_another_name",
        _script("""
class Carrying(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.last = torch.zeros(6, 4)

    def forward(self, x):
        state = x + self.last
        state = torch.tanh(self.cell(state))
        self.last = state  # CULPRIT
        return state


model = Carrying()
for x, _ in batches:
    model(x).pow(2).mean().backward()
"""),
        "hidden-state-not-detached",
    ),
    case(
        "derivative_through_a_list",
        _script("""
t = torch.rand(5, 4, requires_grad=True)
first, = torch.autograd.grad(net(t).sum(), t, create_graph=True)
first = torch.tensor(first.tolist(), requires_grad=True)  # CULPRIT
second, = torch.autograd.grad(first.sum(), t)
"""),
        "unused-input-in-grad",
        says=("the graph between them was cut in line 11",),
    ),
    case(
        "last_batch_of_one_image",
        _script("""
norm = nn.BatchNorm1d(3)
images = torch.randn(5, 3, 4, 4)
for start in (0, 4):
    part = images[start : start + 4]  # CULPRIT
    norm(part.relu().mean(dim=(2, 3))).sum().backward()
"""),
        "batchnorm-single-sample",
    ),
    case(
        "decay_with_each_batch",
        _script("""
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
for epoch in range(4):
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        schedule.step()  # CULPRIT
"""),
        "zero-learning-rate",
    ),
    case(
        "infinity_written_into_a_weight",
        _script("""
for number, (x, y) in enumerate(batches):
    if number == 1:
        net[2].weight.data[0, 1] = float("inf")  # CULPRIT
    optimizer.zero_grad()
    F.mse_loss(net(x).square(), y).backward()
    optimizer.step()
"""),
        "nan-poisons-parameters",
        says=("into `2.weight`", "not data"),
    ),
    case(
        "slow_copy_by_reference",
        _script("""
slow = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).requires_grad_(False)
for x, y in batches:
    for theirs, mine in zip(net.parameters(), slow.parameters()):
        mine.data = theirs.data  # CULPRIT
    optimizer.zero_grad()
    F.mse_loss(net(x) + slow(x), y).backward()
    optimizer.step()
"""),
        "tied-storage-two-parameters",
        says=("no copy",),
    ),
    case(
        "generator_cut_off_beside_a_penalty",
        _script("""
maker = nn.Linear(3, 4)
makers = torch.optim.SGD(maker.parameters(), lr=0.1)
for x, _ in batches:
    fake = maker(torch.randn(6, 3)).detach()
    between = (0.5 * x + 0.5 * fake).requires_grad_(True)
    slope, = torch.autograd.grad(net(between).sum(), between, create_graph=True)
    loss = net(fake).mean() - net(x).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    fake = maker(torch.randn(6, 3)).detach()  # CULPRIT
    makers.zero_grad()
    net(fake).mean().backward()
    makers.step()
"""),
        "detach-in-forward",
    ),
]

FINE = [
    case(
        "flag_before_the_forward_pass",
        _script("""
image = batches[0][0].clone()
image.requires_grad_(True)
F.mse_loss(net(image), batches[0][1]).backward()
attacked = image + 0.1 * image.grad.sign()
"""),
    ),
    case(
        "target_with_memory_of_its_own",
        _script("""
for state, _ in batches:
    q = net(state)
    target = q.detach().clone()
    target[0, 1] = 1.0
    optimizer.zero_grad()
    F.mse_loss(q, target).backward()
    optimizer.step()
    with torch.no_grad():
        F.mse_loss(q, q)
"""),
    ),
    case(
        "closure_that_runs_several_times",
        _script("""
solver = torch.optim.LBFGS(net.parameters(), max_iter=3)
x, y = batches[0]


def closure():
    solver.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss


for _ in range(2):
    solver.step(closure)
"""),
    ),
    case(
        "steps_left_out_now_and_then",
        _script("""
for number, (x, y) in enumerate(batches * 2):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    if number % 4 != 1:
        optimizer.step()
"""),
    ),
    case(
        "gradients_kept_before_they_are_cleared",
        _script("""
for _ in range(2):
    for x, y in batches[:2]:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        kept = [p.grad.clone() for p in net.parameters()]
    for p, g in zip(net.parameters(), kept):
        p.grad.add_(g)
    optimizer.step()
"""),
    ),
    case(
        "best_weights_copied",
        _script("""
kept = {name: value.clone() for name, value in net.state_dict().items()}
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(list(net.parameters()), 1.0)
    optimizer.step()
net.load_state_dict(kept)
net.load_state_dict(net.state_dict())
"""),
    ),
    case(
        "schedule_that_ends_near_zero",
        _script("""
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
for epoch in range(3):
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        schedule.step()
"""),
    ),
    case(
        "weights_shared_once_on_purpose",
        _script("""
shown = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).requires_grad_(False)
for theirs, mine in zip(net.parameters(), shown.parameters()):
    mine.data = theirs.data
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    shown(x)
"""),
    ),
    case(
        "average_of_each_weight",
        _script("""
average = {name: p.detach().clone() for name, p in net.named_parameters()}
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    for name, p in net.named_parameters():
        average[name] = 0.9 * average[name] + 0.1 * p.detach()
"""),
    ),
]
