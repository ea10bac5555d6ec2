"""The subcommands of ``manage.py jobs``, one a file: ``HELP``, ``add(parser)``, ``act(command, options)``."""
