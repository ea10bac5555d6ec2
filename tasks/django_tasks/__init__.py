"""Tasks of Django's task framework, run as jobs; ``tasks.backend`` is its door."""
