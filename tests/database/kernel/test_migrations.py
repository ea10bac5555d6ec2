"""The rows are as the models say."""

import pytest
from django.core.management import call_command


@pytest.mark.django_db
@pytest.mark.parametrize("app", ["kernel", "tasks", "scheduler", "jobsplatform"])
def test_no_migration_is_missing(app: str) -> None:
    # Ends the process, with exit code 1, when one is.
    call_command("makemigrations", app, check=True, dry_run=True, verbosity=0)
