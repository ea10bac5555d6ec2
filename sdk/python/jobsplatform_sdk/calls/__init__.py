"""Every method of the bus, once: a function that makes the ``Call``; both clients send it."""
