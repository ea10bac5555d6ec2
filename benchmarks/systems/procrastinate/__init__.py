"""Procrastinate: a queue on PostgreSQL that fetches a job at a time."""
