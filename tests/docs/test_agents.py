"""The session that docs/agents.md shows is one: each answer is what the server says."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from gradviz.cli import _parser
from gradviz.mcp.bounds import MOST
from tests.docs.test_readme import README, blocks
from tests.gradviz.mcp.programs import served

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(each.text) for each in blocks(PAGE) if each.language == "json"]
SESSION = EXAMPLES[1:]


def is_told(shown: Any, answer: Any) -> bool:
    """Tell whether an answer is what is shown: "…" is anything, more may be said."""
    if isinstance(shown, dict):
        return all(key in answer and is_told(shown[key], answer[key]) for key in shown)
    if isinstance(shown, list):
        pairs = zip(shown, answer, strict=False)
        return len(shown) <= len(answer) and all(is_told(a, b) for a, b in pairs)
    if isinstance(shown, str):
        pattern = re.escape(shown).replace("…", ".*")
        return re.fullmatch(pattern, str(answer), re.DOTALL) is not None
    return shown == answer


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ({"a": 1}, True),
        ({"a": 2}, False),
        ({"c": 1}, False),
        ({"b": ["x…"]}, True),
        ({"b": ["x…z"]}, False),
        ({"b": ["xy", "z", "more"]}, False),
    ],
    ids=str,
)
def test_a_wrong_answer_would_be_noticed(shown: Any, told: bool):
    assert is_told(shown, {"a": 1, "b": ["xy", "z"]}) == told


def test_the_session_is_as_it_is_shown(tmp_path: Path):
    (program,) = [block for block in blocks(README) if block.is_of_its_own]
    script = tmp_path / "quiet.py"
    script.write_text(program.text, encoding="utf-8")
    calls, answers = SESSION[::2], SESSION[1::2]
    assert len(calls) == len(answers) == 5

    async def converse(client: Any) -> None:
        recordings: list[str] = []
        for call, shown in zip(calls, answers, strict=True):
            given = {
                key: whole(value, recordings)
                for key, value in call["arguments"].items()
            }
            if call["tool"] in ("run", "fix"):
                given["engine"] = "gradtape"
            result = await client.call_tool(call["tool"], given)
            assert not result.is_error, result.content
            answer = result.structured_content
            assert is_told(shown, answer), json.dumps(answer, indent=1)
            recordings += [answer["recording"]] if "recording" in answer else []
            for change in answer.get("changes", ()):
                edited = program.text.replace(".detach()", "")
                assert "+    features = torch.tanh(encoder(inputs))" in change["diff"]
                script.write_text(edited, encoding="utf-8")

    with served(tmp_path) as talk:
        talk(converse)


def whole(value: Any, recordings: list[str]) -> Any:
    """Return the path that an earlier answer has given, where the page shortens it."""
    if not (isinstance(value, str) and value.startswith("…")):
        return value
    (found,) = fnmatch.filter(recordings, f"*{value[1:]}")
    return found


def test_the_client_starts_a_command_that_exists():
    (server,) = EXAMPLES[0]["mcpServers"].values()
    assert server["command"] == "gradviz"
    assert _parser().parse_args(server["args"]).command == "mcp"


def test_the_table_names_every_tool(tmp_path: Path):
    from gradviz.mcp.server import make_server

    named = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    tools = {each.name for each in make_server(tmp_path)._tool_manager.list_tools()}
    assert sorted(named) == sorted(tools)


def test_the_bound_is_the_one_that_holds():
    assert f"at most {MOST:,} characters" in PAGE


def test_the_extra_that_it_names_exists():
    (words,) = re.findall(r"`(pip install .+?)`", PAGE)
    (extra,) = re.findall(r"\[(\w+)\]", shlex.split(words)[-1])
    assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text("utf-8")
