"""The rows, one file a kind. The database refuses illegal rows by itself."""

from tasks.models.job import KEY_LENGTH, NAME_LENGTH, OVERLAP_KEY_LENGTH, Job
from tasks.models.outside import AppEvent, ExternalJob, HandlerBinding, LiveTicket
from tasks.models.records import IdempotencyKey, JobAttempt, TypePace
from tasks.models.switches import DispatchLock, Suspension

__all__ = [
    "KEY_LENGTH",
    "NAME_LENGTH",
    "OVERLAP_KEY_LENGTH",
    "AppEvent",
    "DispatchLock",
    "ExternalJob",
    "HandlerBinding",
    "IdempotencyKey",
    "Job",
    "JobAttempt",
    "LiveTicket",
    "Suspension",
    "TypePace",
]
