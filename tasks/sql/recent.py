"""An index for "what was written since": tiny where the database can, so that no write of a job pays for it.

On PostgreSQL it keeps the first and last instant of each few pages; rows are looked for only where those fit. Pages
that were filled since are summed up by autovacuum, and until then looked through.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import BrinIndex
from django.db.models import Index

PAGES = 32


class RecentIndex(Index):
    """Of one column of instants that grow with each write."""

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor, using=using, **kwargs)
        small = BrinIndex(fields=self.fields, name=self.name, autosummarize=True, pages_per_range=PAGES)
        return small.create_sql(model, schema_editor, using="")
