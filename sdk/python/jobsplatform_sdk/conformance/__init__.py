"""Tries a sidecar, in any language, against a running platform: `docs/python-sdk.md` tells how.

A sidecar that wants to be tried runs the job types of ``scenarios``; the tests in ``pack`` create jobs of them over
the bus and look at what becomes of them.
"""
