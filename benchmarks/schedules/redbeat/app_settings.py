"""What is set for redbeat."""

from __future__ import annotations

LOOP_SECONDS = 5
"""As shipped it is 300: an edit may then be seen five minutes later."""
