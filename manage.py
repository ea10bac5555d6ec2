#!/usr/bin/env python
"""The command line of the platform: `python manage.py help` lists what it can do."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
    # Imported here, so that a Ctrl-C while everything is being loaded is caught as well.
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
