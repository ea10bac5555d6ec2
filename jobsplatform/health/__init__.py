"""Health pages and numbers: /health/live, /health/ready, /metrics."""
