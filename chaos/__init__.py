"""The platform under fire: real servers and processes, faults while jobs flow, and what ran counted from a file
that the handlers write. `./dev chaos`, `./dev soak`."""
