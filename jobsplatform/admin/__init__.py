"""Screens of the platform itself, one file each."""

from __future__ import annotations

from jobsplatform.admin import apps, audit, people, processes, tenants, tokens

__all__ = ["apps", "audit", "people", "processes", "tenants", "tokens"]
