"""``manage.py tokens``, a subcommand a file."""
