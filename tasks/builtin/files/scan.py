"""``files.scan`` and ``files.scan_folder``: what is in a tree of files, one child job per folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from jobsplatform.kernel import clock, config
from tasks import queries
from tasks.builtin.files.duplicates import duplicates
from tasks.builtin.files.folder import FolderScan
from tasks.builtin.files.roots import is_allowed, real_root
from tasks.builtin.files.survey import MAX_CHILDREN, Survey, shared
from tasks.builtin.files.tally import SAMPLES, Hashes, Tally
from tasks.builtin.names import brief, read, show
from tasks.context import ChildResult, JobContext
from tasks.handlers import job
from tasks.outcomes import Fail, Outcome
from tasks.requests import JobRequest
from tasks.states import State

DEFAULT_MAX_FILE_BYTES = 64 * 1024**3
HASHES_OF_A_CHILD = 4_000
HASHES_OF_A_TREE = 200_000
KEY_CHARACTERS = 200


@job(
    "files.scan",
    description="Scan a folder tree, one child per folder: types, sizes, hashes, images, duplicates.",
    public_params=("max_children", "follow_symlinks", "cross_mounts"),
)
def scan(
    context: JobContext,
    root: str,
    max_children: Annotated[int, Field(ge=1, le=MAX_CHILDREN)] = 200,
    follow_symlinks: bool = False,
    cross_mounts: bool = False,
    max_file_bytes: Annotated[int, Field(ge=0)] = DEFAULT_MAX_FILE_BYTES,
) -> Outcome | None:
    """Walk ``root``, share its folders among at most ``max_children`` children, and add up what they find.

    ``follow_symlinks`` follows links to folders (each real folder once); links to files are only counted.
    ``cross_mounts`` enters other file systems. Files above ``max_file_bytes`` are measured, not hashed.
    Raises ``Fail`` (never retried) for a root that may not or cannot be scanned.
    """
    real = real_root(root, config.get().tasks.files_scan_roots)
    if context.cursor and queries.children_summary(context.id)["total"]:
        # An earlier run made the children and then died: a plan of today's tree might share it otherwise.
        return None
    survey = Survey(context, real, follow_symlinks, cross_mounts)
    survey.walk()
    found = shared(survey, max_children)
    context.merge(plan=survey.facts())
    if not found:
        return _outcome(context, survey.facts(), [])
    context.checkpoint({"planned": len(found)})
    limit = _hash_limit(sum(share.files for share in found), len(found))
    row = queries.get_job(context.id)
    children = [
        JobRequest(
            job_type=scan_folder.spec.job_type,
            app_id=context.app_id,
            params={
                "root": show(real),
                "folders": share.folders,
                "files": share.files,
                "hash_limit": limit,
                "max_file_bytes": max_file_bytes,
            },
            child_key=f"{number}:{brief(share.folders[0] or '.', KEY_CHARACTERS)}",
            # The whole scan goes where its first job was sent.
            queue=row.queue,
            priority=row.priority,
        )
        for number, share in enumerate(found)
    ]
    context.spawn(children, on_failure="ignore")
    return None


@scan.continuation
def add_up(context: JobContext) -> Outcome:
    """The totals, from the children's results. Raises ``Fail`` when not one child succeeded."""
    context.progress(len(context.children), len(context.children), "adding up")
    return _outcome(context, context.data["plan"], context.children)


@job(
    "files.scan_folder",
    description="Scan the files directly in some folders (a part of files.scan).",
    public_params=("files", "hash_limit"),
)
def scan_folder(
    context: JobContext,
    root: str,
    folders: list[str],
    files: Annotated[int, Field(ge=0)] = 0,
    hash_limit: Annotated[int, Field(ge=0, le=HASHES_OF_A_CHILD)] = HASHES_OF_A_CHILD,
    max_file_bytes: Annotated[int, Field(ge=0)] = DEFAULT_MAX_FILE_BYTES,
) -> Outcome:
    """Measure every file directly in each of ``folders`` (below ``root``; written as by ``names.show``).

    Counts what cannot be read. Continues from its checkpoint; a file in the middle of which it was stopped
    is read again. ``files`` is how many are expected, for the progress bar.
    """
    allowed = config.get().tasks.files_scan_roots
    try:
        real = read(root)
        outside = [shown for shown in folders if not _belongs(read(shown), allowed)]
    except ValueError as error:
        raise Fail(str(error), retryable=False) from None
    if outside:
        raise Fail(f"{outside[0]} is not below the scanned root, or may not be scanned.", retryable=False)
    hashes = Hashes(hash_limit, config.get().tasks.result_max_bytes // 3)
    report = FolderScan(context, real_root(real, allowed), folders, files, hashes, max_file_bytes).run()
    return Outcome(report, count=report["files"], extra={"bytes": report["bytes"]})


def _hash_limit(entries: int, children: int) -> int:
    """How many hash rows each child may return, so that the totals stay within memory."""
    if entries <= HASHES_OF_A_TREE:
        return HASHES_OF_A_CHILD
    return max(20, min(HASHES_OF_A_CHILD, HASHES_OF_A_TREE // children))


def _belongs(path: str, allowed: tuple[str, ...]) -> bool:
    if ".." in path.split("/"):
        return False
    return is_allowed(path, allowed) if path.startswith("/") else True


def _outcome(context: JobContext, plan: dict[str, Any], children: Sequence[ChildResult]) -> Outcome:
    """The totals of a tree; ``complete`` says whether every child's part is in them."""
    done = [child for child in children if child.state == State.COMPLETED and child.result]
    missing = [child for child in children if child not in done]
    if children and not done:
        raise Fail(f"None of {len(children)} folder scans succeeded: {missing[0].error or missing[0].state}")
    tally = Tally.from_state(plan["refused"])
    for child in done:
        tally.merge(Tally.from_report(child.result))
    exact = not missing and all(child.result["hashes"]["complete"] for child in done)
    rows = (row for child in done for row in child.result["hashes"]["rows"])
    result = {
        "root": plan["root"],
        "complete": not missing,
        "folders": plan["folders"],
        **tally.report(),
        "duplicates": duplicates(rows, exact=exact),
        "mounts_skipped": plan["mounts_skipped"],
        "children": {
            "count": len(children),
            "failed": len(missing),
            "samples": [
                {"key": child.key, "error": child.error or child.state} for child in missing[:SAMPLES]
            ],
        },
        "elapsed_seconds": round((clock.now() - context.started_at).total_seconds(), 3),
    }
    extra = {"bytes": tally.bytes, "folders": plan["folders"], "unreadable": tally.unreadable}
    return Outcome(result, count=tally.files, extra=extra)
