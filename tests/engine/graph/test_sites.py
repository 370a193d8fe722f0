"""Every node knows the expression of the user's that made it."""

from __future__ import annotations

import threading

import gradtape as gt
from gradtape._graph.scope import Scope


def columns(tensor):
    site = tensor.grad_fn.site
    line = site.text.splitlines()[0].encode()
    return line[site.column - 1 : site.end_column - 1].decode()


def test_site_covers_the_exact_expression():
    x = gt.ones(2, requires_grad=True)
    y = gt.exp(x * 3) + 1
    assert columns(y) == "gt.exp(x * 3) + 1"
    assert columns_of_node(y.grad_fn.next_functions[0][0]) == "gt.exp(x * 3)"


def columns_of_node(node):
    site = node.site
    return site.text.encode()[site.column - 1 : site.end_column - 1].decode()


def test_site_of_a_method_call():
    x = gt.ones(2, requires_grad=True)
    assert columns(x.exp()) == "x.exp()"


def test_site_skips_frames_of_the_engine():
    x = gt.ones(2, requires_grad=True)
    assert columns(x.mean()) == "x.mean()"
    assert columns(-x) == "-x"


def test_site_of_a_call_over_several_lines():
    x = gt.ones(2, requires_grad=True)
    y = gt.exp(
        x,
    )
    site = y.grad_fn.site
    assert site.end_line == site.line + 2
    assert site.text.strip().startswith("y = gt.exp(")


def test_site_of_code_without_a_source_file():
    scope = {"x": gt.ones(2, requires_grad=True)}
    exec(compile("y = x * 2", "<nowhere>", "exec"), scope)
    site = scope["y"].grad_fn.site
    assert (site.file, site.line, site.text) == ("<nowhere>", 1, "")


def test_site_in_a_thread_whose_first_frame_is_ours():
    x = gt.ones(2, requires_grad=True)
    found = []
    thread = threading.Thread(target=lambda: found.append(x * 2))
    thread.start()
    thread.join()
    assert columns(found[0]) == "x * 2"


def test_sequence_numbers_grow():
    x = gt.ones(2, requires_grad=True)
    y = x * 2
    z = y * 2
    assert z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()


def test_scope_does_not_keep_its_module_alive():
    class Module:
        def named_modules(self):
            return []

    module = Module()
    scope = Scope(module, None)
    del module
    assert scope.module() is None
    assert scope.name == "Module"
