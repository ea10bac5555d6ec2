"""``events``: an app tells one of its users something."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from jobsplatform.kernel import clock
from tasks import external
from tasks.bus.calls import Call, Method
from tasks.bus.schemas import LINE, Input, Label, Output


class EmitIn(Input):
    """``kind``: the app's own name of it; ``payload``: any JSON, which the platform does not read."""

    user_id: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=LINE)]
    kind: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=LINE)]
    scope: Label = ""
    payload: Any = Field(default=None)


class EmitOut(Output):
    """The id of the event; later ones have larger ids."""

    id: str


def emit(call: Call, given: EmitIn) -> dict[str, Any]:
    """Tell one user something; whoever shows pages to that user hears it."""
    made = external.tell(
        call.app_id,
        given.user_id,
        given.kind,
        scope=given.scope,
        payload=given.payload,
        actor=call.actor,
        now=clock.now(),
    )
    return {"id": str(made.pk)}


METHODS = (
    Method("events.emit", "events:emit", EmitIn, EmitOut, emit, "Tell a user something.", quota="events"),
)
