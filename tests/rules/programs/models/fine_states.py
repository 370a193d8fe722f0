"""Saved states that fit a model in part, as they may."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.programs.models.gv694 import START

PROGRAMS: list[Case] = [
    case(
        name,
        f"""{START}
            {code}
        """,
    )
    for name, code in (
        (
            "body_of_another_net_and_a_new_head",
            """net = Tagger()
            state = trainer.net.state_dict()
            state = {k: v for k, v in state.items() if not k.startswith("head")}
            net.load_state_dict(state, strict=False)
            net.encoder.requires_grad_(False)
            Trainer(net).fit()""",
        ),
        (
            "state_of_a_larger_model_for_one_of_its_parts",
            """net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
            state = {f"other.{k}": v for k, v in trainer.state_dict().items()}
            state.update(trainer.net.encoder[:2].state_dict())
            net.load_state_dict(state, strict=False)
            Trainer(net).fit()""",
        ),
        (
            "tries_one_name_and_then_the_other",
            """net, state = Tagger(), trainer.state_dict()
            result = net.load_state_dict(state, strict=False)
            if result.missing_keys:
                state = {k.partition(".")[2]: v for k, v in state.items()}
                net.load_state_dict(state, strict=False)
            Trainer(net).fit()""",
        ),
        (
            "nothing_was_saved_yet",
            """net, saved = Tagger(), {}
            net.load_state_dict(saved, strict=False)
            Trainer(net).fit()""",
        ),
    )
]
