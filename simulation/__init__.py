"""Schedules under a virtual clock and seeded misfortune, on the real planner and a real database.

One seed is one history: the same seed brings the same crashes, lost messages and wrong clocks again. Afterwards the
trigger log is compared with the calendar, and the jobs with the trigger log.
"""
