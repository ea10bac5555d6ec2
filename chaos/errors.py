"""What keeps a run from being made at all."""


class CannotRun(Exception):
    """Something that the run needs is missing; the message says in one line what, and what to do."""
