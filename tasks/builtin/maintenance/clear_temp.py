"""``maintenance.clear_temp``: remove old files of a folder for temporary files, and nothing else."""

from __future__ import annotations

import os
import stat
import tempfile
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from jobsplatform.kernel import clock, config
from tasks.builtin.names import brief, show
from tasks.builtin.tree import Folder, is_inside, opened, reason_of, walk
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Fail, Outcome

SAMPLES = 20
PATH_CHARACTERS = 300

# Never cleared, whatever the settings say: neither these, nor a folder that one of them is in.
_SYSTEM = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/tmp",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
)
# Nothing inside of these is temporary.
_SEALED = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/System")


@job(
    "maintenance.clear_temp",
    description="Remove files of a temporary folder that are older than some hours.",
    public_params=("older_than_hours", "dry_run"),
    confirm="Files are removed for good. Try it with dry_run first.",
    on_interrupt="cancel",
)
def clear_temp(
    context: JobContext,
    folder: str,
    older_than_hours: Annotated[float, Field(ge=1, le=876_000)] = 24.0,
    dry_run: bool = False,
) -> Outcome:
    """Remove the files and links in ``folder`` whose content and state both last changed before that age.

    Emptied folders as old are removed too; ``folder`` itself stays. Links are removed, never followed; other
    file systems are not entered; pipes, sockets and devices stay. The folder must be inside one of
    TASKS__CLEAR_TEMP_ROOTS (when not set: the system's temporary folder, and DATA_DIR/tmp).
    """
    real = checked_folder(folder)
    before = clock.now().timestamp() - older_than_hours * 3600
    sweep = _Sweep(context, before, dry_run)
    try:
        with opened(real) as root:
            sweep.run(root)
    except OSError as error:
        raise Fail(f"{show(real)} cannot be cleared: {reason_of(error)}.") from None
    return Outcome(sweep.report(real), count=sweep.files)


def checked_folder(folder: str) -> str:
    """The real path of a folder that may be cleared. Raises ``Fail`` (never retried) that says why not."""
    if "\x00" in folder or not folder.startswith("/"):
        raise Fail(f"folder takes an absolute path, got {show(folder)!r}.", retryable=False)
    try:
        real = os.path.realpath(folder, strict=True)
    except OSError as error:
        raise Fail(f"{show(folder)} cannot be cleared: {reason_of(error)}.", retryable=False) from None
    if not os.path.isdir(real):
        raise Fail(f"{show(folder)} is no folder.", retryable=False)
    danger = _danger(real)
    if danger:
        raise Fail(f"{show(folder)} is not cleared: {danger}.", retryable=False)
    roots = allowed_roots()
    if not any(is_inside(real, root) and real != root for root in roots):
        raise Fail(
            f"{show(folder)} is not cleared: it is not inside of {', '.join(map(show, roots))}. "
            "TASKS__CLEAR_TEMP_ROOTS names the folders whose subfolders may be.",
            retryable=False,
        )
    return real


def allowed_roots() -> list[str]:
    """Real paths of the folders whose subfolders may be cleared."""
    configured = config.get().tasks.clear_temp_roots
    if configured:
        return [os.path.realpath(root) for root in configured]
    return [os.path.realpath(tempfile.gettempdir()), os.path.realpath(config.get().data_dir / "tmp")]


def _danger(real: str) -> str:
    data = os.path.realpath(config.get().data_dir)
    code = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    for precious, why in (
        ("/", "it is the root of all files"),
        *((path, f"{path} belongs to the system") for path in _SYSTEM),
        (os.path.expanduser("~"), "a home folder is in it"),
        (data, "the platform's data is in it"),
        (code, "the platform's code is in it"),
        (os.getcwd(), "this process works in it"),
    ):
        if is_inside(os.path.realpath(precious), real):
            return why
    for sealed in _SEALED:
        if is_inside(real, sealed):
            return f"{sealed} belongs to the system"
    if is_inside(real, code):
        return "it is part of the platform's code"
    return ""


class _Sweep:
    """One pass over the folder: counts what it removes, or would."""

    def __init__(self, context: JobContext, before: float, dry_run: bool) -> None:
        self.context = context
        self.before = before
        self.dry_run = dry_run
        self.files = 0
        self.bytes = 0
        self.folders = 0
        self.kept = 0
        self.failed = 0
        self.removed_samples: list[str] = []
        self.failed_samples: list[dict[str, str]] = []

    def run(self, root: int) -> None:
        found: list[tuple[str, str, float]] = []
        for folder in walk(root, step=self._step):
            if folder.foreign:
                self.kept += 1
            elif folder.error:
                self._fail(folder.path, folder.error)
            else:
                # Taken before its files go: removing one is a change of the folder.
                found.append((*_split(folder.path), self._clear(root, folder)))
        for parent, name, changed in reversed(found):
            if name and changed < self.before:
                self._remove_folder(root, parent, name)

    def report(self, real: str) -> dict[str, Any]:
        return {
            "folder": show(real),
            "dry_run": self.dry_run,
            "older_than": datetime.fromtimestamp(self.before, UTC).isoformat(),
            "files": self.files,
            "bytes": self.bytes,
            "folders": self.folders,
            "kept": self.kept,
            "failed": self.failed,
            "samples": self.removed_samples,
            "failed_samples": self.failed_samples,
        }

    def _clear(self, root: int, folder: Folder) -> float:
        """Remove the old files directly in a folder; when the folder itself had last changed."""
        try:
            with opened(folder.path, below=root) as descriptor:
                changed = _changed(os.fstat(descriptor))
                for name in folder.others:
                    self._step()
                    self._clear_file(descriptor, folder.child(name), name)
                return changed
        except OSError as error:
            self._fail(folder.path, reason_of(error))
            return float("inf")

    def _clear_file(self, descriptor: int, path: str, name: str) -> None:
        try:
            facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            plain = stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)
            if not plain or _changed(facts) >= self.before:
                self.kept += 1
                return
            if not self.dry_run:
                os.unlink(name, dir_fd=descriptor)
        except FileNotFoundError:
            return  # somebody else was quicker
        except OSError as error:
            self._fail(path, reason_of(error))
            return
        self.files += 1
        self.bytes += facts.st_size
        if len(self.removed_samples) < SAMPLES:
            self.removed_samples.append(brief(show(path), PATH_CHARACTERS))
        self.context.progress(self.files, None, "files removed" if not self.dry_run else "files found")

    def _remove_folder(self, root: int, parent: str, name: str) -> None:
        self._step()
        if self.dry_run:
            return
        try:
            with opened(parent, below=root) as descriptor:
                os.rmdir(name, dir_fd=descriptor)
        except OSError:
            return  # not empty, or gone: nothing is wrong
        self.folders += 1

    def _fail(self, path: str, reason: str) -> None:
        self.failed += 1
        if len(self.failed_samples) < SAMPLES:
            self.failed_samples.append({"path": brief(show(path) or ".", PATH_CHARACTERS), "reason": reason})

    def _step(self) -> None:
        self.context.check_cancel()


def _changed(facts: os.stat_result) -> float:
    # An unpacked or moved file keeps its old mtime; ctime tells that it is new here.
    return max(facts.st_mtime, facts.st_ctime)


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name
