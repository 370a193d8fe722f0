"""Scripts as people post them, which are right."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "flag_before_the_forward_pass",
        script("""
image = batches[0][0].clone()
image.requires_grad_(True)
F.mse_loss(net(image), batches[0][1]).backward()
attacked = image + 0.1 * image.grad.sign()
"""),
    ),
    case(
        "target_with_memory_of_its_own",
        script("""
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
        script("""
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
        script("""
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
        script("""
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
        script("""
kept = {name: value.clone() for name, value in net.state_dict().items()}
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(list(net.parameters()), 1.0)
    optimizer.step()
net.load_state_dict(kept)
"""),
    ),
    case(
        "schedule_that_ends_near_zero",
        script("""
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
        script("""
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
        script("""
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
