"""Reading the JSON of a row that somebody may have written past us."""

from __future__ import annotations

from typing import Any

from tasks.json_values import StoredJSON


class ReadableJSON(StoredJSON):
    """Reads what a database takes for JSON; None for what Python cannot read of it, such as a number of 5,000 digits
    or lists nested a thousand deep. So the row can be looked at, said to be faulty, and mended, and stops no other."""

    def decode(self, s: str, *args: Any) -> Any:
        """The value, or None."""
        try:
            return super().decode(s, *args)
        except (ValueError, RecursionError):
            return None
