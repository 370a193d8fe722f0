"""The errors gradviz raises. Every message is one sentence for the user to read."""

from __future__ import annotations


class GradvizError(Exception):
    """Base of all errors that gradviz raises on purpose."""


class SnapshotError(GradvizError, ValueError):
    """A snapshot cannot be read or contradicts itself.

    The file is truncated, damaged, not a snapshot at all, or written by a version of
    gradviz with another major schema number. Nothing was loaded.
    """


class ExportError(GradvizError):
    """A picture or file could not be written.

    The folder is missing or read-only, the path is a folder, or the page's script was
    never built. A file that was there before is untouched.
    """


class CaptureError(GradvizError):
    """There is no graph to record behind the value that was given."""


class QuestionError(GradvizError, ValueError):
    """A question cannot be answered.

    The recording knows no such name or thing, or the question is none that can be
    asked of it; the message says which names come near, or what can be asked.
    """
