"""What makes a Celery worker a worker of the platform; the parts in the order they start are in bootstep.py."""
