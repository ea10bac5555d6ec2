"""Reading the JSON of a row that somebody may have written past us."""

from __future__ import annotations

from typing import Any

from tasks.json_values import StoredJSON


class ReadableJSON:
    """Reads what a database takes for JSON; None for what Python cannot read of it, such as a number of 5,000 digits
    or lists nested a thousand deep. So the row can be looked at, said to be faulty, and mended, and stops no other."""

    def decode(self, text: str) -> Any:
        """The value, or None."""
        try:
            return StoredJSON.decode(text)
        except (ValueError, RecursionError):
            return None
