"""What an agent reads: when to use which tool, and what each answers."""

from __future__ import annotations

from gradviz.mcp.bounds import MOST

INSTRUCTIONS = f"""\
gradviz finds what is wrong with gradients in PyTorch and gradtape programs: which
line is to blame, why, and what to write instead.

Begin with `run` on the script that trains or computes a loss, with arguments that
make it short: a few steps show what a few thousand do. It answers with a verdict,
findings and the path of a recording. Then ask the recording, which runs nothing
again: `why` about a parameter, module or loss that does not behave; `node` about an
operation; `findings` with a code for the manual of a rule. `fix` proposes edits, and
tries them if asked. After an edit, `run` again and `diff` the two recordings: what
changed in the graph, beside what was meant to.

No findings mean that no known fault was seen in what ran: not that the program is
right. Every answer has at most {MOST:,} characters; `left_out` says how to get the
rest.
"""

RUN = """\
Record one run of a Python script and say what is wrong with its gradients. Use it
first, when training does not learn, a loss is NaN, backward() raises, or to check an
edit. The script really runs, in a process of its own, with all it does (it may write
files). Answers: `verdict`, `findings` (most likely cause first; each with file, line,
reason, fix, and an edit as a diff where one is certain), `recording` (for the other
tools; kept while the server runs), `status`, `raised`, and the ends of its output.
"""

FINDINGS = """\
List the findings of a recording again, without running anything. With `code`
("GV306"), those of one rule, and its manual: what it means, why it is bad, an
example, what to write instead, when it is no fault. Use it before you decide that a
finding is a false alarm.
"""

WHY = """\
Ask a recording why a parameter, module or loss is as it is: has no gradient, is NaN,
does not change, is not learnt. Answers with a verdict and the chain of causes, a line
each; the step marked `decision` is the line to change. Without `name`, lists what can
be asked, with verdicts: a quick look at what learns and what does not. Names may be
cut short from the left ("encoder.weight"); "error" is the exception that ended the
run. A recording answers one question about each thing, the one that its state asks
first.
"""

NODE = """\
Show all that a recording knows of operations in the autograd graph: shapes, dtypes,
values, gradients that arrived, what it saved, its derivative, neighbours, findings.
`node` is an op ("relu"), a parameter ("0.weight"), a module ("model.encoder",
"*attn*"), a line ("train.py:10") or a row number of an earlier answer. Use it to
follow a gradient by hand where `why` has no answer.
"""

DIFF = """\
Compare the graphs of two recordings, such as before and after an edit, or, without
`after`, the last backward pass of one with the first like it. Answers with operations
added (+), removed (-) and changed (~: shape, dtype, wiring, gradient norm by a factor
of ten). Use it to check that an edit did what was meant and nothing else.
"""

FIX = """\
Run a script and propose edits for its findings, as unified diffs; no file is changed.
With `try_edits`, each edit is tried: the script runs again with it, in a copy of its
folder, and `helped` says whether the finding went and nothing new came. `safe` edits
leave what the program computes as it was meant; the others take a side, so read them.
Apply an edit yourself, then `run` again.
"""
