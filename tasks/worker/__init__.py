"""What makes a Celery worker a worker of the platform; bootstep.py names its parts in starting order."""
