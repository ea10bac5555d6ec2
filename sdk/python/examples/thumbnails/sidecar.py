"""A sidecar that makes thumbnails: ``python sidecar.py --url … --token-file … --root …``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import images

from jobsplatform_sdk import Child, Client, Discard, Fail, JobContext, Outcome, Sidecar


def declare(sidecar: Sidecar, root: Path) -> None:
    """The two job types, for images below ``root``."""

    @sidecar.job("thumbnails.image", max_attempts=3, timeout=120, public_params=["image"])
    def image(ctx: JobContext, image: str, size: int = 256, force: bool = False) -> dict[str, Any]:
        """Makes the thumbnail of one image."""
        path = _path(root, image)
        if not path.exists():
            raise Discard("the image is gone")
        made = images.thumbnail_of(path)
        if not force and images.is_fresh(path, made):
            return {"thumbnail": str(made.relative_to(root)), "made": False}
        ctx.check_cancel()
        try:
            width, height = images.make(path, size)
        except images.NoImage as error:
            raise Fail(str(error), retryable=False) from None
        return {"thumbnail": str(made.relative_to(root)), "made": True, "width": width, "height": height}

    @sidecar.job("thumbnails.folder", dedupe_key="{folder}:{size}", public_params=["folder"])
    def folder(ctx: JobContext, folder: str, size: int = 256, force: bool = False) -> None:
        """Makes the thumbnails of a folder, a child for each image."""
        path = _path(root, folder)
        if not path.is_dir():
            raise Fail(f"{folder!r} is no folder below the root.", retryable=False)
        wanted = [str(found.relative_to(root)) for found in images.found_in(path)]
        ctx.log.info("%d images in %s", len(wanted), folder)
        params = {"size": size, "force": force}
        ctx.spawn([Child(image, {"image": name, **params}, name) for name in wanted], on_failure="ignore")

    @folder.continuation
    def summary(ctx: JobContext) -> Outcome:
        """What became of each image."""
        made = [child for child in ctx.children if child.state == "completed" and child.result["made"]]
        failed = {child.key: child.error for child in ctx.children if child.state == "failed"}
        kept = len(ctx.children) - len(made) - len(failed)
        return Outcome({"made": len(made), "kept": kept, "failed": failed}, count=len(made))


def _path(root: Path, name: str) -> Path:
    try:
        return images.within(root, name)
    except ValueError as error:
        raise Fail(str(error), retryable=False) from None


def main() -> None:
    """Until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="of the platform")
    parser.add_argument("--token-file", required=True, type=Path, help="holds the app's token")
    parser.add_argument("--root", required=True, type=Path, help="images below it may be read")
    parser.add_argument("--concurrency", type=int, default=4, help="images at once")
    chosen = parser.parse_args()
    client = Client(chosen.url, chosen.token_file.read_text().strip())
    sidecar = Sidecar(client, concurrency=chosen.concurrency, service="thumbnails", wait_seconds=5.0)
    declare(sidecar, chosen.root.resolve())
    sidecar.main()


if __name__ == "__main__":
    main()
