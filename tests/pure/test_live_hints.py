"""Hints as they travel, and whether a page might hear of a type of job at all."""

import json

import pytest

from tasks.live import hints, topics
from tasks.live.hints import Hint
from tasks.live.streams import Streams
from tasks.live.viewer import Audience

ALL = Audience(everything=True)


def heard(*names: str) -> Streams:
    streams = Streams()
    for name in names:
        streams.open(topics.parse(name), ALL)
    return streams


def test_a_hint_arrives_as_it_was_sent():
    hint = Hint()
    hint.add(hints.JOB, (1, ":files.scan"))
    hint.add(hints.JOB, (2, ":files.scan"))
    hint.add(hints.PROGRESS, (2, "video:cut"))
    hint.add(hints.SCHEDULE, "nightly")
    assert len(hint) == 4
    assert hints.decode(hints.encode(hint, "another process")) == hint


@pytest.mark.parametrize("text", ["no JSON", "[]", "7", "null", ""])
def test_what_is_no_hint_is_none(text):
    assert hints.decode(text) is None


@pytest.mark.parametrize(
    "told", [{"j": [1]}, {"p": "x"}, {"x": {"a": 1}}, {"s": 7}, {"much": 0}, {"z": ["a"]}]
)
def test_a_hint_of_another_shape_names_nothing(told):
    assert hints.decode(json.dumps(told)) == Hint()


@pytest.mark.parametrize("name", ["jobs", "user:7", "schedule:nightly", "type:video:cut", "app:video"])
def test_a_topic_that_may_carry_a_type(name):
    assert heard(name, "system").may_carry("video:cut")


@pytest.mark.parametrize("name", ["system", "type::cut", "type:video:cut.all", "app:", "app:vide"])
def test_a_topic_that_cannot(name):
    assert not heard(name).may_carry("video:cut")


def test_a_topic_that_nobody_listens_to_any_more_carries_nothing():
    streams = heard("jobs")
    for at in (0.0, 1000.0):
        streams.remove_idle(at)
    assert not streams.may_carry("video:cut")
