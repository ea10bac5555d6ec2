"""What a live connection is told when it asks for what it cannot have. Pure."""

from __future__ import annotations

CODES = {
    "MALFORMED": "the frame is no JSON object",
    "INVALID": "a field is missing, unknown or of the wrong type",
    "UNKNOWN_TYPE": "no such type of frame",
    "UNKNOWN_TOPIC": "no such topic",
    "UNKNOWN_SUB": "nothing is subscribed under this name",
    "NOT_FOUND": "there is no such job, or it is not for you",
    "FORBIDDEN": "the topic is not for you",
    "TOO_LARGE": "the frame is too large",
    "TOO_MANY": "too many subscriptions on one connection",
    "RATE_LIMITED": "too many frames in a short time",
    "UNAVAILABLE": "the database does not answer; ask again in a moment",
}
"""Every code of an error frame, and what it means."""


class Refused(Exception):
    """A frame was refused; nothing has changed and the connection goes on."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
