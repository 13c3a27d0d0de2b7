"""How it stands: the model, the index, the disk, what is wrong and what mends it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from letopis import checks
from letopis.errors import LetopisError
from letopis.index import compact
from letopis.memory import Memory
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)
PARTS = ("memory", "sessions", "experience", ".letopis")


@router.get("/library/health")
async def health(request: Request) -> Response:
    """The page; what takes long comes after it."""

    def view(memory: Memory) -> Mapping[str, Any]:
        usage = [(model, purpose, used) for (model, purpose), used in memory.store.usage.totals().items()]
        return {"place": "health", "model": memory.store.settings.model.name, "usage": usage,
                "folder": str(memory.store.workspace.root), "due": memory.due()}  # fmt: skip

    return await shown(request, "health.html", view)


@router.get("/library/health/findings")
async def findings(request: Request) -> Response:
    """What the doctor finds."""
    return await shown(
        request, "_findings.html", lambda memory: {"findings": checks.examine(memory.store, memory.models)}
    )


@router.get("/library/health/sizes")
async def sizes(request: Request) -> Response:
    """The index and the disk."""

    def view(memory: Memory) -> Mapping[str, Any]:
        root = memory.store.workspace.root
        problem, index, plan = "", None, None
        try:
            index = memory.index.status()
            plan = compact.plan(memory.index.path) if memory.index.path.exists() else None
        except LetopisError as error:
            problem = str(error)
        space = os.statvfs(root) if hasattr(os, "statvfs") else None
        return {"index": index, "plan": plan, "problem": problem,
                "sizes": [(name, sum(_sizes(root / name))) for name in PARTS],
                "free": space.f_bavail * space.f_frsize if space else None}  # fmt: skip

    return await shown(request, "_sizes.html", view)


def _sizes(folder: Path) -> Iterator[int]:
    try:
        entries = os.scandir(folder)
    except OSError:
        return
    with entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(Path(entry.path))
            else:
                yield entry.stat(follow_symlinks=False).st_size
