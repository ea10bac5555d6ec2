"""The environment becomes one checked configuration, or one list of all its faults."""

from pathlib import Path

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.config import Config
from jobsplatform.kernel.config_schema import SECTIONS, variables
from jobsplatform.kernel.errors import ConfigError

SECRET = "k3" * 30
CLOUD = {
    "PROFILE": "cloud",
    "SECRET_KEY": SECRET,
    "DATABASE_URL": "postgresql://u:pw@db/jobs",
    "REDIS_URL": "redis://cache:6379/0",
}


@pytest.fixture
def local(tmp_path: Path) -> dict[str, str]:
    return {"DATA_DIR": str(tmp_path)}


def faults(environ: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config.load(environ)
    return caught.value.message.splitlines()


def test_an_empty_environment_is_the_local_profile(local: dict[str, str], tmp_path: Path) -> None:
    found = config.load(local)
    assert (found.profile, found.debug, found.time_zone) == ("local", False, "UTC")
    assert found.database_url == f"sqlite:///{tmp_path}/jobsplatform.sqlite3"
    assert found.celery_broker_url == "memory://"
    assert found.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert (found.tasks.lease_seconds, found.tasks.heartbeat_seconds) == (15, 5)
    assert found.tasks.queues == ("default",)
    assert found.logs.format == "console"


def test_every_value_is_read_from_its_variable(local: dict[str, str]) -> None:
    found = config.load(
        local
        | {
            "DEBUG": "true",
            "APPS": "tests, json.tool",
            "ALLOWED_HOSTS": '["a.example", "b.example"]',
            "REDIS_URL": "redis://cache/0",
            "TASKS__PROVIDER": "sync",
            "TASKS__HEARTBEAT_SECONDS": "0.5",
            "TASKS__QUEUE_CAPS": '{"default": 3}',
            "TASKS__QUEUES": "default,mail",
            "SCHEDULER__IDLE_SLEEP_SECONDS": "2",
            "LOGS__FORMAT": "json",
            "TIME_ZONE": "Europe/Berlin",
        }
    )
    assert found.debug is True
    assert found.apps == ("tests", "json.tool")
    assert found.allowed_hosts == ("a.example", "b.example")
    assert found.celery_broker_url == "redis://cache/0"
    assert found.tasks.provider == "sync"
    assert found.tasks.heartbeat_seconds == 0.5
    assert found.tasks.queue_caps == {"default": 3}
    assert found.tasks.queues == ("default", "mail")
    assert found.scheduler.idle_sleep_seconds == 2
    assert found.logs.format == "json"
    assert found.logs.level == "INFO"


def test_an_empty_variable_counts_as_not_set(local: dict[str, str]) -> None:
    assert config.load(local | {"TASKS__BATCH": " ", "PROFILE": ""}).tasks.batch == 50


def test_all_faults_are_told_at_once(local: dict[str, str]) -> None:
    told = faults(
        local
        | {
            "TASKS__BATCH": "many",
            "TASKS__PROVIDR": "sync",
            "SCHEDULER__PROVIDER": "locl",
            "TIME_ZONE": "Europe/Berln",
            "TASKS__BACKOFF_BASE_SECONDS": "7200",
            "TASKS__QUEUE_CAPS": "{default: 3",
            "DATABASE_URL": "mysql://db/x",
        }
    )
    assert sorted(line.split(":")[0] for line in told) == [
        "DATABASE_URL",
        "SCHEDULER__PROVIDER",
        "TASKS__BACKOFF_BASE_SECONDS",
        "TASKS__BATCH",
        "TASKS__PROVIDR",
        "TASKS__QUEUE_CAPS",
        "TIME_ZONE",
    ]
    assert "TASKS__PROVIDR: no such setting. Did you mean TASKS__PROVIDER?" in told
    assert "TASKS__BATCH: expected a whole number at least 1 and at most 1000000000, got 'many'." in told
    assert (
        "SCHEDULER__PROVIDER: expected one of local, celery_beat, apscheduler, got 'locl'. "
        "Did you mean 'local'?" in told
    )
    assert any("Did you mean 'Europe/Berlin'?" in line for line in told)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("DATABSE_URL", "DATABASE_URL"),
        ("DATABASE_URI", "DATABASE_URL"),
        ("SECRETKEY", "SECRET_KEY"),
        ("ALLOWED_HOST", "ALLOWED_HOSTS"),
        ("TASKS_PROVIDER", "TASKS__PROVIDER"),
        ("TASK__PROVIDER", "TASKS__PROVIDER"),
        ("tasks__batch", "TASKS__BATCH"),
        ("SCHEDULER__PROVIDE", "SCHEDULER__PROVIDER"),
    ],
)
def test_a_name_that_is_nearly_ours_is_not_passed_over(local: dict[str, str], given: str, meant: str) -> None:
    assert len(told := faults(local | {given: "x"})) == 1
    assert given in told[0]
    assert f"Did you mean {meant}?" in told[0]


def test_a_near_miss_beside_the_right_name_is_somebody_elses(local: dict[str, str]) -> None:
    config.load(local | {"REDIS_URL": "redis://cache/0", "REDIS_URI": "redis://other/0"})
    assert "REDIS_URI" in faults(local | {"REDIS_URI": "redis://other/0"})[0]


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "APP",
        "DEBUGGER",
        "REDIS_TLS_URL",
        "LOGNAME",
        "CELERY_TASK_ALWAYS_EAGER",
        "X__Y",
        "TASKS_PORT",
    ],
)
def test_other_programs_variables_are_left_alone(local: dict[str, str], name: str) -> None:
    config.load(local | {name: "x"})


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1e99", "five", "5s", "0x10", "true", "[1]"])
def test_a_length_of_time_is_a_positive_number(local: dict[str, str], value: str) -> None:
    assert faults(local | {"TASKS__POLL_SECONDS": value})[0].startswith(
        "TASKS__POLL_SECONDS: expected a number above 0"
    )


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"TASKS__LEASE_SECONDS": "9"}, ("TASKS__LEASE_SECONDS", "TASKS__HEARTBEAT_SECONDS")),
        ({"TASKS__HEARTBEAT_SECONDS": "8"}, ("TASKS__LEASE_SECONDS", "TASKS__HEARTBEAT_SECONDS")),
        ({"TASKS__BACKOFF_MAX_SECONDS": "1"}, ("TASKS__BACKOFF_BASE_SECONDS", "TASKS__BACKOFF_MAX_SECONDS")),
        ({"TASKS__CUTOFF_EXIT_SECONDS": "2"}, ("TASKS__CUTOFF_EXIT_SECONDS", "TASKS__LEASE_SECONDS")),
        ({"TASKS__WATCHDOG_SECONDS": "2"}, ("TASKS__WATCHDOG_SECONDS", "TASKS__POLL_SECONDS")),
        ({"LOCKS__PROVIDER": "redis"}, ("LOCKS__PROVIDER", "REDIS_URL")),
        (
            {"SCHEDULER__LOCK_TTL_SECONDS": "1"},
            ("SCHEDULER__LOCK_TTL_SECONDS", "SCHEDULER__IDLE_SLEEP_SECONDS"),
        ),
    ],
)
def test_settings_that_contradict_each_other_are_both_named(
    local: dict[str, str], environ: dict[str, str], names: tuple[str, str]
) -> None:
    (told,) = faults(local | environ)
    assert all(name in told for name in names)


def test_apps_are_modules_or_configuration_classes(local: dict[str, str]) -> None:
    apps = "tests,tests.pure.kernel,tasks.apps.TasksConfig,django.contrib.sites"
    assert len(config.load(local | {"APPS": apps}).apps) == 4


def test_looking_for_an_app_imports_nothing(local: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bomb_shop").mkdir()
    (tmp_path / "bomb_shop" / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "bomb_shop" / "reports.py").write_text("raise RuntimeError('imported')")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        config.load(local | {"APPS": "bomb_shop.reports"})


@pytest.mark.parametrize(
    "app",
    [
        "no_such_shop",
        "no_such_shop.apps.Config",
        ".",
        "shop-1",
        "Shop",
        "tests.purr",
        "tests.pure.apps.Config",
    ],
)
def test_an_app_that_is_not_there_is_told(local: dict[str, str], app: str) -> None:
    (told,) = faults(local | {"APPS": f"tests,{app}"})
    assert told.startswith(f"APPS: expected Django apps that can be imported, got {app!r}.")


def test_a_faulty_value_is_not_told_twice(local: dict[str, str]) -> None:
    assert len(faults(local | {"TASKS__LEASE_SECONDS": "soon"})) == 1


def test_the_cloud_needs_its_own_secret_and_database() -> None:
    told = faults({"PROFILE": "cloud"})
    assert [line.split(":")[0] for line in told] == ["SECRET_KEY", "DATABASE_URL"]


def test_the_cloud_makes_no_secret_file(tmp_path: Path) -> None:
    faults({"PROFILE": "cloud", "DATA_DIR": str(tmp_path / "data")})
    assert not (tmp_path / "data").exists()
    assert config.load(CLOUD).logs.format == "json"


def test_secrets_are_shown_neither_in_faults_nor_in_the_configuration() -> None:
    environ = CLOUD | {"HEALTH_TOKEN": "hush-hush", "TASKS__BATCH": "0"}
    assert "pw" not in faults(environ)[0]
    shown = repr(config.load(CLOUD | {"HEALTH_TOKEN": "hush-hush"}))
    assert not any(secret in shown for secret in (SECRET, "hush-hush", "pw@"))
    (told,) = faults(CLOUD | {"DATABASE_URL": "postgres//u:sesame@db/x"})
    assert "sesame" not in told


def test_a_configuration_cannot_be_changed(local: dict[str, str]) -> None:
    found = config.load(local)
    with pytest.raises(ValueError, match="frozen"):
        found.debug = True  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        found.tasks.batch = 1  # type: ignore[misc]


def test_locks_live_where_all_processes_see_them(local: dict[str, str]) -> None:
    assert config.load(local).lock_provider == "database"
    assert config.load(local | {"REDIS_URL": "redis://x"}).lock_provider == "redis"
    assert config.load(local | {"LOCKS__PROVIDER": "memory"}).lock_provider == "memory"


def test_a_host_project_gives_a_mapping(tmp_path: Path) -> None:
    found = config.from_mapping({"data_dir": str(tmp_path), "tasks": {"batch": 7}})
    assert (found.tasks.batch, found.tasks.poll_seconds) == (7, 3)
    with pytest.raises(ConfigError, match=r"tasks\.bath"):
        config.from_mapping({"data_dir": str(tmp_path), "tasks": {"bath": 7}})


def test_override_changes_what_all_see_and_puts_it_back() -> None:
    before = config.get()
    with config.override(tasks={"batch": 7}, health_token="t") as changed:
        assert config.get() is changed
        assert (changed.tasks.batch, changed.health_token) == (7, "t")
        assert changed.tasks.queues == before.tasks.queues
        with config.override(tasks={"poll_seconds": 1}):
            assert (config.get().tasks.batch, config.get().tasks.poll_seconds) == (7, 1)
    assert config.get() is before


def test_override_refuses_unknown_names() -> None:
    with pytest.raises(ConfigError, match="bath"), config.override(tasks={"bath": 7}):
        pass


def test_an_unwritable_data_folder_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (told,) = faults({"DATA_DIR": str(tmp_path / "file")})
    assert told.startswith("DATA_DIR: expected a folder to write to")


def test_each_variable_leads_to_one_field() -> None:
    paths = list(variables().values())
    assert len(set(paths)) == len(paths)
    assert {path[0] for path in paths} == set(Config.model_fields)
    assert {path[0] for path in paths if len(path) == 2} == set(SECTIONS)


@pytest.mark.parametrize(
    ("variable", "url", "words"),
    [
        ("REDIS_URL", "http://u:sesame@x", "got http://…"),
        ("REDIS_URL", "reddis://:sesame@x", "Did you mean redis://?"),
        ("REDIS_URL", "localhost:6379", "got no scheme"),
        ("REDIS_URL", "redis://:sesame@localhost:abc/0", "a port from 0 to 65535"),
        ("REDIS_URL", "redis://localhost:99999/0", "a port from 0 to 65535"),
        ("CELERY_BROKER_URL", "foo://:sesame@x", "one of memory://, redis://"),
        ("CELERY_BROKER_URL", "amqp://u:sesame@x:abc//", "a port from 0 to 65535"),
    ],
)
def test_an_address_that_no_client_understands_is_refused(variable: str, url: str, words: str) -> None:
    (told,) = faults(CLOUD | {variable: url})
    assert told.startswith(f"{variable}: ")
    assert words in told
    assert "sesame" not in told


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis://h",
        "redis://:p%40@[::1]:6379/0",
        "rediss://u:p@h:1/2?ssl_cert_reqs=none",
        "unix:///run/r.sock?db=1",
    ],
)
def test_addresses_of_redis_that_are_fine(url: str) -> None:
    assert config.load(CLOUD | {"REDIS_URL": url}).redis_url == url


def test_the_broker_is_on_the_same_socket_of_redis() -> None:
    found = config.load(CLOUD | {"REDIS_URL": "unix:///run/r.sock?db=1"})
    assert found.celery_broker_url == "redis+socket:///run/r.sock?virtual_host=1"
    assert config.load(CLOUD | {"REDIS_URL": "redis://h/1"}).celery_broker_url == "redis://h/1"
