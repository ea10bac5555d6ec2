"""What runs: handlers, jobs, and the way of a job from submit to its one recorded end."""
