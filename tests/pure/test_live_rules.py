"""Rules of the live feed that need no rows: topics, origins, pace, streams, manners, lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.live import origin, stream, topics
from tasks.live.line_limit import LineLimit
from tasks.live.manners import BURST, FORGIVEN, Manners
from tasks.live.pace import FRAMES, WITHIN_SECONDS, Pace
from tasks.live.refusals import Refused
from tasks.live.stream import Stream
from tasks.live.topics import Kind, Topic
from tasks.live.viewer import Audience, Viewer

JOB = "01890a5d-ac96-774b-bcce-b302099a8057"
JOBS = Topic(Kind.JOBS, "jobs")


@pytest.mark.parametrize(
    ("text", "name"),
    [("jobs", "jobs"), ("system", "system"), (f"job:{JOB.upper()}", f"job:{JOB}"), ("app:", "app:"),
     ("type::files.scan", "type::files.scan"), ("type:video:a:b", "type:video:a:b"), ("user:7", "user:7"),
     ("schedule:nightly", "schedule:nightly")],
)  # fmt: skip
def test_a_topic_has_one_way_of_writing(text, name):
    assert topics.parse(text).name == name


@pytest.mark.parametrize(
    "text", ["", "job", "job:", "job:1", "type:x", "type:x:", "user:", "jobs:", "x", None, 7, "user:\x00"]
)
def test_what_is_no_topic_is_refused(text):
    with pytest.raises(Refused) as refused:
        topics.parse(text)
    assert refused.value.code == "UNKNOWN_TOPIC"


@given(st.text())
def test_no_text_breaks_the_reading_of_topics_and_origins(text):
    origin.read(text)
    try:
        topics.parse(text)
    except Refused:
        pass


def test_origins_by_scheme_host_and_port():
    def allowed(
        text: str, host: str = "a.example", secure: bool = False, trusted: tuple[str, ...] = ()
    ) -> bool:
        return origin.allowed([text], host, secure=secure, trusted=trusted)

    assert allowed("https://a.example")
    assert allowed("https://a.example", secure=True)
    assert not allowed("http://a.example", secure=True)
    assert allowed("http://[::1]:8000", "[::1]:8000")
    assert not allowed("http://a.example:8001", "a.example:8000")
    assert not allowed("http://a.example", "")
    assert allowed("https://b.example", trusted=("https://b.example",))
    assert allowed("https://x.b.example", trusted=("https://*.b.example",))
    assert not allowed("https://b.example", trusted=("https://*.b.example",))
    assert not allowed("https://xb.example", trusted=("https://*.b.example",))
    assert not origin.allowed(["https://a.example"] * 2, "a.example", secure=False, trusted=())


@given(
    st.lists(st.tuples(st.floats(0, 0.2), st.booleans()), min_size=1, max_size=60),
)
def test_no_second_has_more_than_its_frames_and_the_last_word_is_told(steps):
    pace, at, told = Pace(), 0.0, []

    def take(now: float) -> None:
        told.extend(now for _ in pace.take(now, 10))

    for gap, progress in steps:
        until = at + gap
        while (due := pace.next_due()) is not None and due <= until:
            take(due)
        at = until
        pace.want("job", at, progress=progress)
        take(at)
    last_change = at
    while (due := pace.next_due()) is not None:
        take(due)
    assert told[-1] >= last_change
    assert told[-1] <= last_change + 2 * WITHIN_SECONDS
    assert all(
        later - earlier >= WITHIN_SECONDS - 1e-9 for earlier, later in zip(told, told[FRAMES:], strict=False)
    )


def test_the_first_word_is_told_at_once():
    pace = Pace()
    pace.want("job", 5.0)
    assert pace.take(5.0, 10) == ["job"]


def test_a_stream_keeps_its_last_events_and_knows_what_it_lacks(monkeypatch):
    monkeypatch.setattr(stream, "KEPT", 3)
    made = Stream(JOBS, Audience(everything=True), 10)
    assert made.covers(10) and not made.covers(9)
    for n in range(5):
        made.add(str(n))
    assert (made.seq, made.first, made.event(15), made.event(13)) == (15, 13, "4", "2")
    assert made.covers(12) and not made.covers(11) and not made.covers(16)
    made.skip()
    assert made.seq == 16
    assert not made.covers(15)
    assert made.covers(16)


def test_a_stream_keeps_no_more_text_than_it_may(monkeypatch):
    monkeypatch.setattr(stream, "KEPT_CHARACTERS", 10)
    made = Stream(JOBS, Audience(everything=True), 0)
    for _ in range(5):
        made.add("x" * 6)
    assert made.first == 5


def test_an_audience_without_a_name_hears_nothing():
    assert not Audience().hears("", "")
    assert Audience(user_id="7").hears("7", "video")
    assert not Audience(user_id="7", app_id="audio").hears("7", "video")
    assert Viewer(user_id="7").audience(JOBS) is None


def test_a_flood_of_strangers_is_one_line_a_minute():
    limit = LineLimit()
    told = [limit.allows("origin", "evil", float(n) / 10) for n in range(1200)]
    assert [answer for answer in told if answer is not None] == [0, 599]


def test_different_strangers_are_told_up_to_a_number():
    limit = LineLimit()
    assert sum(limit.allows("origin", str(n), 0.0) is not None for n in range(1000)) == 20


def test_manners():
    manners = Manners()
    for _ in range(BURST):
        manners.heard(0.0)
    with pytest.raises(Refused):
        manners.heard(0.0)
    manners.heard(1.0)
    answers = [manners.refused(float(n)) for n in range(FORGIVEN + 1)]
    assert answers == [False] * FORGIVEN + [True]
    assert not Manners().refused(0.0)
