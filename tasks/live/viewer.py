"""Who listens, and what of it they may see. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.live.topics import Kind, Topic


@dataclass(frozen=True, slots=True)
class Audience:
    """Whose rows a stream carries, and how much of them. Listeners of one topic with equal audiences share a stream.

    ``everything``: any row; else those of ``user_id`` and ``app_id``, as far as each is given.
    """

    everything: bool = False
    user_id: str | None = None
    app_id: str | None = None
    payload: bool = False
    schedules: bool = False

    def hears(self, user_id: str, app_id: str) -> bool:
        """May it see a row of this user and app?"""
        if self.everything:
            return True
        if self.user_id is None and self.app_id is None:
            return False
        return self.user_id in (None, user_id) and self.app_id in (None, app_id)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who is let in. ``app_id``: by a ticket of that app, then ``user_id`` is the app's own (empty: all of
    the app); else ``user_id`` is a user of the platform. ``topics``: only these; empty: any that it may hear."""

    user_id: str = ""
    app_id: str | None = None
    sees_jobs: bool = False
    sees_payload: bool = False
    sees_schedules: bool = False
    topics: tuple[str, ...] = ()

    def audience(self, topic: Topic) -> Audience | None:
        """As whom it hears ``topic``; None: not at all. Whether a single job is its own, the row must tell."""
        if self.topics and topic.name not in self.topics:
            return None
        return self._of_app(topic) if self.app_id is not None else self._of_user(topic)

    def _of_user(self, topic: Topic) -> Audience | None:
        if self.sees_jobs:
            return Audience(everything=True, payload=self.sees_payload, schedules=self.sees_schedules)
        if topic.kind is Kind.SCHEDULE:
            return Audience(user_id=self.user_id, schedules=True) if self.sees_schedules else None
        if topic.kind in (Kind.JOBS, Kind.SYSTEM):
            return None
        if topic.kind is Kind.USER and topic.value != self.user_id:
            return None
        return Audience(user_id=self.user_id)

    def _of_app(self, topic: Topic) -> Audience | None:
        if topic.kind not in (Kind.JOB, Kind.TYPE, Kind.APP, Kind.USER):
            return None
        if topic.kind in (Kind.TYPE, Kind.APP) and topic.app_id != self.app_id:
            return None
        if topic.kind is Kind.USER and self.user_id and topic.value != self.user_id:
            return None
        # A ticket for one user goes to that user's browser; the app itself may see what it has sent.
        return Audience(user_id=self.user_id or None, app_id=self.app_id, payload=not self.user_id)
