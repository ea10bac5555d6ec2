"""``manage.py tokens``."""

import pytest

from jobsplatform.kernel.models import App, AppToken, AuditEvent
from tests.database.cli.ran import ran

pytestmark = pytest.mark.django_db


def make(*more: str) -> str:
    return ran("tokens", "create", "--app", "video", "--scopes", "jobs:run,jobs:create", *more).out.strip()


def test_a_token_is_printed_once_and_alone():
    done = ran("tokens", "create", "--app", "video", "--scopes", "jobs:run,jobs:create", "--expires", "90d")
    text = done.out.strip()
    token = AppToken.objects.get()
    assert text.startswith(f"jp_{token.id.hex}_")
    assert len(done.out.splitlines()) == 1
    assert "The app video is new." in done.err
    assert text not in done.err
    assert token.scopes == ["jobs:create", "jobs:run"]
    assert round((token.expires_at - token.created_at).total_seconds() / 86_400) == 90


def test_nothing_that_is_stored_has_the_secret():
    text = make("--name", "nightly")
    secret = text.rpartition("_")[2] if text.count("_") == 2 else text.split("_", 2)[2]
    stored = str([row.__dict__ for model in (App, AppToken, AuditEvent) for row in model.objects.all()])
    assert secret not in stored
    assert secret not in ran("tokens", "list", "--all").out + ran("tokens", "list", "--json").out


def test_making_and_revoking_are_audited():
    make()
    token = AppToken.objects.get()
    assert ran("tokens", "revoke", str(token.id)).out == f"Revoked: {token.id} of video.\n"
    assert ran("tokens", "revoke", str(token.id)).out == f"Was revoked before: {token.id} of video.\n"
    actions = list(AuditEvent.objects.order_by("id").values_list("action", "actor_kind", "app_id"))
    assert actions == [
        ("app.create", "cli", "video"),
        ("token.create", "cli", "video"),
        ("token.revoke", "cli", "video"),
    ]


def test_the_list_is_of_those_that_are_good():
    first, _ = make("--name", "first"), make("--name", "second")
    ran("tokens", "revoke", first)
    (only,) = ran("tokens", "list", "--json").json["tokens"]
    assert (only["name"], only["state"], only["last_used_at"]) == ("second", "good", None)
    every = ran("tokens", "list", "--all", "--json").json["tokens"]
    assert [each["state"] for each in every] == ["good", "revoked"]
    assert "second" in ran("tokens", "list", "--app", "video").out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("create", "--app", "video", "--scopes", "jobs:craete"), "Did you mean 'jobs:create'?"),
        (("create", "--app", "video", "--scopes", ","), "at least one scope"),
        (("create", "--app", "a:b", "--scopes", "all"), "app: expected"),
        (("create", "--app", "", "--scopes", "all"), "app: expected"),
        (("create", "--app", "video", "--scopes", "all", "--expires", "1d ago"), "expired already"),
        (("create", "--app", "video", "--scopes", "all", "--expires", "soon"), "is no time"),
        (("create", "--app", "video", "--scopes", "all", "--name", "x" * 101), "at most 100"),
        (("list", "--app", "vdieo"), "Unknown app"),
        (("revoke", "nothing"), "is no id of a token"),
        (("revoke", "0199c3f2-6c1e-7a3b-8d4e-5f60718293a4"), "Unknown token"),
    ],
)
def test_wrong_use_is_one_line_and_stores_nothing(argv, says):
    done = ran("tokens", *argv)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert not AppToken.objects.exists()
    assert not App.objects.exists()


def test_an_app_that_differs_by_case_alone_is_a_slip():
    make()
    done = ran("tokens", "create", "--app", "Video", "--scopes", "all")
    assert done.code == 2
    assert "Did you mean 'video'?" in done.err
