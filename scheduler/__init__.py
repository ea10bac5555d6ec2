"""When jobs run: schedules, the slots they plan, and what became of each."""
