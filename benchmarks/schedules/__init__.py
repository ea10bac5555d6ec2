"""Measurements of schedulers: what it takes to send what is due, beside others. `./dev bench schedules`."""
