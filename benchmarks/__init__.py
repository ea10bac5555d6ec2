"""Measurements of speed, beside others, in one run; never timed tests. `./dev bench jobs`, `./dev bench schedules`."""
