"""What cannot be measured, and why."""


class NotMeasured(Exception):
    """A figure that there is none of; the message says in one line why, and what to do where that is known."""


class NotYet(NotMeasured):
    """The same, but the next try may succeed: a busy machine had not done in time what precedes the measurement."""


def reason_of(error: BaseException) -> str:
    """The one line that a row shows instead of a figure."""
    first = str(error).strip().partition("\n")[0]
    if isinstance(error, NotMeasured):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
