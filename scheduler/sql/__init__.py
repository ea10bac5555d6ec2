"""Statements on many rows at once, written by hand where the ORM's cost a statement or more a row."""
