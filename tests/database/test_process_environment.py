"""A process that a test starts sees what the test has committed."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db(transaction=True)
def test_a_child_process_works_on_the_tests_database(process_environment: dict[str, str]) -> None:
    get_user_model().objects.create(username="ada")
    code = (
        "from django.contrib.auth.models import User; print(*User.objects.values_list('username', flat=True))"
    )
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code],
        cwd=ROOT,
        env=process_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.returncode) == (["ada"], 0), done.stderr
