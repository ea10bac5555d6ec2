"""One suite for all lock providers."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.db import OperationalError, connections, transaction

from jobsplatform.kernel import clock, config, locks
from jobsplatform.kernel.clock import FrozenClock
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks import DatabaseLocks, LockProvider, MemoryLocks, RedisLocks, held
from jobsplatform.kernel.locks.redis import FENCE_KEY, PREFIX
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import NamedLock

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "scheduler:trigger:daily:t1:2026-03-01T12:00:00Z"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Bench:
    """A provider and a way to let its time pass."""

    def __init__(self, provider: LockProvider, pass_seconds: Callable[[float], object]) -> None:
        self.provider = provider
        self.pass_seconds = pass_seconds


@pytest.fixture(params=["memory", "database", "redis"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "redis":
        url = request.getfixturevalue("redis_url")
        client = redis.Redis.from_url(url)
        client.delete(*(keys if (keys := client.keys(PREFIX + "*")) else ["none"]))

        def expire(seconds: float) -> None:
            # Redis keeps its own time: what is left is cut by what has passed.
            for key in client.keys(PREFIX + "*"):
                left = client.pttl(key) - int(seconds * 1000)
                client.pexpire(key, left) if left > 0 else client.delete(key)

        yield Bench(RedisLocks(url), expire)
        client.close()
        return
    frozen = FrozenClock(START)
    with clock.use(frozen):
        yield Bench(MemoryLocks() if request.param == "memory" else DatabaseLocks(), frozen.advance)


def test_one_holds_and_the_others_are_told(bench: Bench) -> None:
    first = bench.provider.acquire(KEY, 30)
    assert first is not None
    assert first.key == KEY
    assert bench.provider.acquire(KEY, 30) is None
    assert bench.provider.acquire("another", 30) is not None


def test_what_is_given_back_is_free(bench: Bench) -> None:
    first = bench.provider.acquire(KEY, 30)
    assert first is not None
    assert bench.provider.release(first)
    second = bench.provider.acquire(KEY, 30)
    assert second is not None
    assert second.token != first.token


def test_a_lock_runs_out(bench: Bench) -> None:
    assert bench.provider.acquire(KEY, 30) is not None
    bench.pass_seconds(29)
    assert bench.provider.acquire(KEY, 30) is None
    bench.pass_seconds(2)
    assert bench.provider.acquire(KEY, 30) is not None


def test_fences_only_grow_however_a_lock_changes_hands(bench: Bench) -> None:
    fences = []
    for round_number in range(6):
        lease = bench.provider.acquire(KEY, 5)
        assert lease is not None
        fences.append(lease.fence)
        if round_number % 2:
            assert bench.provider.release(lease)
        else:
            bench.pass_seconds(6)
    assert fences == sorted(set(fences))


def test_who_was_overtaken_neither_releases_nor_renews(bench: Bench) -> None:
    slow = bench.provider.acquire(KEY, 5)
    assert slow is not None
    bench.pass_seconds(6)
    quick = bench.provider.acquire(KEY, 30)
    assert quick is not None
    assert not bench.provider.renew(slow, 30)
    assert not bench.provider.release(slow)
    assert bench.provider.acquire(KEY, 30) is None
    assert bench.provider.release(quick)


def test_a_lock_that_ran_out_cannot_be_renewed_or_released(bench: Bench) -> None:
    lease = bench.provider.acquire(KEY, 5)
    assert lease is not None
    bench.pass_seconds(6)
    assert not bench.provider.renew(lease, 30)
    assert not bench.provider.release(lease)


def test_a_renewal_counts_from_now(bench: Bench) -> None:
    lease = bench.provider.acquire(KEY, 10)
    assert lease is not None
    bench.pass_seconds(8)
    assert bench.provider.renew(lease, 10)
    bench.pass_seconds(8)
    assert bench.provider.acquire(KEY, 10) is None
    bench.pass_seconds(3)
    assert bench.provider.acquire(KEY, 10) is not None


def test_a_released_lock_stays_released(bench: Bench) -> None:
    lease = bench.provider.acquire(KEY, 10)
    assert lease is not None
    assert bench.provider.release(lease)
    assert not bench.provider.release(lease)
    assert not bench.provider.renew(lease, 10)


def test_of_many_at_once_one_gets_it(bench: Bench) -> None:
    start, got = threading.Barrier(8), []

    def attempt() -> None:
        start.wait()
        try:
            if bench.provider.acquire(KEY, 30) is not None:
                got.append(1)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert got == [1]


def test_any_thread_with_the_lease_may_release(bench: Bench) -> None:
    lease = bench.provider.acquire(KEY, 30)
    assert lease is not None
    done = []

    def release() -> None:
        try:
            done.append(bench.provider.release(lease))
        finally:
            connections.close_all()

    thread = threading.Thread(target=release)
    thread.start()
    thread.join(10)
    assert done == [True]


def test_held_gives_back_even_after_an_error(bench: Bench) -> None:
    with pytest.raises(KeyError), held(bench.provider, KEY, 30, owner="beat-1") as lease:
        assert lease is not None
        with held(bench.provider, KEY, 30) as rival:
            assert rival is None
        raise KeyError
    assert bench.provider.acquire(KEY, 30) is not None


# -- the stores themselves -----------------------------------------------------------------------------


def test_an_unreachable_redis_is_neither_held_nor_free() -> None:
    away = RedisLocks("redis://:sesame@127.0.0.1:1/0", timeout=0.5)
    lease = locks.Lease(KEY, "token", 1)
    for attempt in (lambda: away.acquire(KEY, 5), lambda: away.renew(lease, 5), lambda: away.release(lease)):
        with pytest.raises(LockUnavailable) as caught:
            attempt()
        assert "REDIS_URL" in caught.value.message
        assert "sesame" not in caught.value.message


def test_a_broken_database_is_neither_held_nor_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection\nunexpectedly")

    provider = DatabaseLocks()
    monkeypatch.setattr(provider, "_take", broken)
    with pytest.raises(LockUnavailable, match=r"server closed the connection\)"):
        provider.acquire(KEY, 5)


def test_a_database_lock_refuses_to_hide_in_a_transaction() -> None:
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        DatabaseLocks().acquire(KEY, 5)


def test_a_pruned_row_does_not_turn_the_fence_back() -> None:
    frozen = FrozenClock(START)
    with clock.use(frozen):
        provider = DatabaseLocks()
        first = provider.acquire(KEY, 5, owner="beat-1")
        assert first is not None
        assert NamedLock.objects.get().owner == "beat-1"
        frozen.advance(10)
        assert provider.prune(clock.now() + timedelta(seconds=1)) == 1
        second = provider.acquire(KEY, 5)
        assert second is not None
        assert second.fence > first.fence


def test_a_flushed_redis_does_not_turn_the_fence_back(redis_url: str) -> None:
    provider = RedisLocks(redis_url)
    first = provider.acquire("flushed", 5)
    assert first is not None
    client = redis.Redis.from_url(redis_url)
    client.delete(PREFIX + "flushed", FENCE_KEY)
    client.close()
    second = provider.acquire("flushed", 5)
    assert second is not None
    assert second.fence > first.fence


def test_redis_locks_run_out_by_themselves(redis_url: str) -> None:
    provider = RedisLocks(redis_url)
    assert provider.acquire("brief", 0.2) is not None
    wait_until(lambda: provider.acquire("brief", 5), timeout=10)


def test_who_lost_the_lock_before_drawing_a_fence_has_nothing(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = RedisLocks(redis_url)
    draw = provider._fence
    client = redis.Redis.from_url(redis_url)

    def late(**facts: object) -> object:
        client.delete(PREFIX + "late")
        return draw(**facts)

    monkeypatch.setattr(provider, "_fence", late)
    assert provider.acquire("late", 30) is None
    client.close()


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"locks": {"provider": "auto"}, "redis_url": ""}, DatabaseLocks),
        ({"locks": {"provider": "auto"}, "redis_url": "redis://127.0.0.1:1/0"}, RedisLocks),
        ({"locks": {"provider": "memory"}}, MemoryLocks),
        ({"locks": {"provider": "database"}, "redis_url": "redis://127.0.0.1:1/0"}, DatabaseLocks),
    ],
)
def test_the_configuration_chooses_the_provider(settings: dict[str, object], kind: type) -> None:
    with config.override(**settings):
        assert isinstance(locks.get_provider(), kind)
        assert locks.get_provider() is locks.get_provider()
