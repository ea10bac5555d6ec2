"""The subcommands of ``manage.py schedules``, one module each."""
