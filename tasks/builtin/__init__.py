"""Job types that are shipped: what operators need without writing code (docs/builtin-jobs.md)."""
