"""Makes a folder a workspace, or adopts one that has such files already."""

from importlib import resources
from pathlib import Path

from letopis.errors import WorkspaceError
from letopis.store import files
from letopis.store.workspace import Workspace, open_workspace

_TEMPLATES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "letopis.toml")
_IGNORED = ("memory/vector.db*", ".letopis/locks/", ".letopis/backups/", ".letopis/usage.jsonl", ".*.tmp")


def init(folder: Path) -> tuple[Workspace, list[str]]:
    """Make the workspace; returns it and the names of the files made. No file is changed.

    Only `.gitignore` may get lines at its end.
    """
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder} is a file; choose another name for the workspace")
    with files.writing(folder, "the folder"):
        folder.mkdir(parents=True, exist_ok=True)
    workspace = open_workspace(folder)
    with files.writing(folder, "the folders in"):
        for place in (workspace.memory, workspace.live, workspace.internal):
            place.mkdir(parents=True, exist_ok=True)
    made = []
    for name in _TEMPLATES:
        text = resources.files("letopis.store").joinpath("templates", name).read_bytes()
        if not (workspace.root / name).exists() and files.create(workspace.root / name, text):
            made.append(name)
    if _ignore(workspace):
        made.append(".gitignore")
    return workspace, made


def _ignore(workspace: Workspace) -> bool:
    path = workspace.root / ".gitignore"
    present = (files.read(path) or b"").decode("utf-8", "replace").split()
    missing = [line for line in _IGNORED if line not in present]
    if missing:
        files.append(path, ("\n".join(missing) + "\n").encode())
    return bool(missing)
