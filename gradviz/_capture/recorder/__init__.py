"""recorder: say here what this room is for, and what must stay true in it."""
