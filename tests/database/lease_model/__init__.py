"""A model of leases: the platform by hand, driven by Hypothesis through whatever may happen to it.

``world``: the types of jobs, and what is looked at. ``machine``: what may happen, and what must hold after each
step. ``bugs``: mistakes that the machine must notice.
"""
