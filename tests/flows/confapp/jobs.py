"""The job types of the conformance pack as handlers of the platform: the same code as in a sidecar."""

from __future__ import annotations

from functools import partial

import jobsplatform
from jobsplatform import job
from jobsplatform_sdk.conformance import scenarios

APP = "conf-inside"
QUEUE = "conf"

scenarios.declare(partial(job, app_id=APP, queue=QUEUE), jobsplatform)
