"""How findings speak of lines, tensors and nodes."""

from __future__ import annotations

import ast
import re

from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.program import History, Module, ModuleCall, Node, RawSite, Value
from gradviz.text.words import without_comments

_LONGEST = 90  # characters of code quoted in a sentence
_OPERAND = 40  # characters of an operand in the code of a fix

_LINE_FIRST = re.compile(r"(^|[.!?] )line(?= \d)")

_SIMPLE = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return


def code(history: History, site: RawSite | None) -> str:
    """Return the statement at a site, or the expression inside a longer one."""
    statement = history.places.statement(site)
    if site is None or statement is None:
        return history.text(site)
    if not isinstance(statement, _SIMPLE):
        return shortened(history.text(site))
    text = ast_text(history, site, statement)
    return text if len(text) <= _LONGEST else shortened(history.text(site))


def shortened(text: str) -> str:
    """Return a text on one line, with its middle left out where it is long."""
    text = " ".join(text.split())
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 3 :]}"


def in_code(text: str) -> str:
    """Return an expression as code may call a method on it; "…" where it is long.

    >>> in_code("a + b"), in_code("x[0]"), in_code("")
    ('(a + b)', 'x[0]', '…')
    """
    node = parsed_expression(text) if 0 < len(text) <= _OPERAND else None
    if node is None:
        return "…"
    whole = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return text if whole else f"({text})"


def place(history: History, site: RawSite | None, inside: str = "") -> str:
    """Return "`y += 1` (line 19)"; ``inside`` comes after the line."""
    text = code(history, site)
    where = f"{history.line(site)}{inside}"
    return f"`{text}` ({where})" if text else where


def begun_large(text: str) -> str:
    """Return sentences that begin with "Line 5" where they began with "line 5".

    >>> begun_large("line 3 wrote to it. line 5 read it, before line 7.")
    'Line 3 wrote to it. Line 5 read it, before line 7.'
    """
    return _LINE_FIRST.sub("\\1Line", text)


def node_words(history: History, node: Node) -> str:
    """Return "`sq = h ** 2` (line 19)", or "`net.1` (Tanh, line 7)".

    A line that calls a model runs many layers: there, the layer is named.
    """
    if node.site is None:
        return node.name
    module, event = module_around(history, node.module), history.at(node.module)
    line, path = history.line(node.site), module and _path(history, module)
    if module is not None and path and event is not None and event.site == node.site:
        return f"`{path}` ({module.kind}, {line})"
    text, inside = code(history, node.site), module_words(history, node.module)
    if not text:
        return f"{node.name} ({line}{inside})"
    return f"`{text}` ({line}{inside})"


def module_around(history: History, call: int | None) -> Module | None:
    """Return the module whose call is the event with this index."""
    event = history.at(call)
    if not isinstance(event, ModuleCall):
        return None
    return history.program.modules.get(event.module)


def module_words(history: History, call: int | None) -> str:
    """Return ", in `net.1` (Tanh)" for the innermost module around, or nothing."""
    module = module_around(history, call)
    if module is None:
        return ""
    name = _path(history, module)
    return f", in `{name}` ({module.kind})" if name else f", in ({module.kind})"


def _path(history: History, module: Module) -> str:
    """Return the path of a module; a number alone would say nothing: "net[1]"."""
    first, dot, rest = module.name.partition(".")
    if not first.isdigit():
        return module.name
    modules = history.program.modules.values()
    keys = {each.key for each in modules if each.name == first}
    around = {
        each.name or each.kind
        for each in modules
        if each.children.get(first) in keys and each.name.count(".") == 0
    }
    return f"{around.pop()}[{first}]{dot}{rest}" if len(around) == 1 else module.name


def tensor_words(history: History, value: Value) -> str:
    """Return what the program calls a tensor, or how it was made, or its shape."""
    if (name := variable(history, value)) is not None:
        return f"`{name}`"
    owner = owner_of(history, value)
    if owner is not None and owner != value.tensor:
        return f"a view of {history.name(owner, 'a parameter')}"
    return f"a tensor of shape {list(value.shape)}"


def owner_of(history: History, value: Value) -> int | None:
    """Return the parameter whose memory a tensor has, as a view of it or itself."""
    return history.once(_parameters).get(value.storage)


def _parameters(history: History) -> dict[int, int]:
    """Return the parameter that each storage belongs to."""
    return {
        value.storage: value.tensor
        for call in history.calls
        for value in call.inputs
        if value.is_parameter
    }


def variable(history: History, value: Value) -> str | None:
    """Return a tensor's name: of the parameter, of the variable, or its expression."""
    facts = history.program.tensors.get(value.tensor)
    if facts is not None and facts.name:
        return facts.name
    producer = history.producer(value)
    if producer is None or producer.site is None:
        return None
    if (named := assigned(history, producer.site)) is not None:
        return named
    text = history.text(producer.site)
    return text if 0 < len(text) <= 30 and text.isprintable() else None


def assigned(history: History, site: RawSite) -> str | None:
    """Return the name that the value of the expression at a site is given, if one."""
    statement = history.places.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    names = history.places.targets(site)
    if len(names) != 1 or not _is_whole(history, site, statement.value):
        return None
    return names[0]


def _is_whole(history: History, site: RawSite, value: ast.expr) -> bool:
    marked = history.places.site(site)
    if marked.column is None:
        return False
    starts = (marked.line, marked.end_line) == (value.lineno, value.end_lineno)
    text = history.text(site)
    return starts and text == shortened(ast_text(history, site, value))


def ast_text(history: History, site: RawSite, node: ast.expr | ast.stmt) -> str:
    """Return the source of a syntax node in the file of a site."""
    lines = [
        history.places.source_line(site[0].co_filename, number).encode()
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    ]
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    text = "\n".join(line.decode(errors="ignore") for line in lines)
    parts = without_comments(text).split("\n")
    return " ".join(part.strip() for part in parts if part.strip())


def versions(before: int, after: int) -> str:
    """Return "from version 0 to version 1"."""
    return f"from version {before} to version {after}"
