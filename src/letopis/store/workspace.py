"""One folder: where everything of a workspace lies, how it is found, and what keeps paths inside."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from letopis.errors import OutsideWorkspace, WorkspaceError

INDEX_PATH = "sessions/_sessions.jsonl"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The places of a workspace. `root` is absolute and free of links."""

    root: Path

    @property
    def memory(self) -> Path:
        """The notes."""
        return self.root / "memory"

    @property
    def memory_file(self) -> Path:
        """The curated facts."""
        return self.root / "memory" / "MEMORY.md"

    @property
    def live(self) -> Path:
        """Live transcripts."""
        return self.root / "sessions"

    @property
    def closing(self) -> Path:
        """Closed transcripts that are still being archived."""
        return self.root / "sessions" / "closing"

    @property
    def archive(self) -> Path:
        """Archived transcripts."""
        return self.root / "sessions" / "archive"

    @property
    def session_index(self) -> Path:
        """One line a closed session."""
        return self.root / INDEX_PATH

    @property
    def experience(self) -> Path:
        """Cases and lessons, one file a collection."""
        return self.root / "experience"

    @property
    def internal(self) -> Path:
        """Locks, journals, backups, quarantine."""
        return self.root / ".letopis"

    @property
    def fact_journal(self) -> Path:
        """Every change of the facts."""
        return self.internal / "facts.jsonl"

    @property
    def deletions(self) -> Path:
        """The sessions that were deleted for good."""
        return self.internal / "deleted.jsonl"

    @property
    def backups(self) -> Path:
        """What stood before a replacement."""
        return self.internal / "backups"

    @property
    def quarantine(self) -> Path:
        """Damaged bytes, kept."""
        return self.internal / "quarantine"

    def relative(self, path: Path) -> str:
        """The path as it stands inside files: from the root, with forward slashes."""
        return path.relative_to(self.root).as_posix()

    def inside(self, relative: str) -> Path:
        """The path of a name inside the workspace. Raises OutsideWorkspace."""
        pure = PurePosixPath(relative)
        bad = "\0" in relative or "\\" in relative or ":" in relative or pure.is_absolute()
        if bad or ".." in pure.parts or not pure.parts:
            raise OutsideWorkspace(f"{relative!r} is not a path inside the workspace {self.root}")
        path = self.root.joinpath(*pure.parts)
        return self.contained(path)

    def contained(self, path: Path) -> Path:
        """The path itself, if following its links does not lead out. Raises OutsideWorkspace."""
        real = Path(os.path.realpath(path))
        if real != self.root and self.root not in real.parents:
            raise OutsideWorkspace(f"{path} leads to {real}, out of the workspace; it is not followed")
        return path


def is_workspace(folder: Path) -> bool:
    """Whether a folder was made or adopted as a workspace."""
    return (folder / ".letopis").is_dir() or (folder / "letopis.toml").is_file()


def default_folder(configured: str, environ: Mapping[str, str]) -> Path:
    """The user's own workspace."""
    return Path(configured or Path(environ.get("HOME") or Path.home()) / "letopis").expanduser()


def find(chosen: str | None, environ: Mapping[str, str], current: Path, configured: str = "") -> Path:
    """The workspace meant: chosen, from the environment, upwards from here, or the user's own.

    Raises WorkspaceError where a folder was named that is none, or none is found.
    """
    for named, source in ((chosen, "--workspace"), (environ.get("LETOPIS_WORKSPACE"), "LETOPIS_WORKSPACE")):
        if named:
            folder = Path(named).expanduser().absolute()
            if not is_workspace(folder):
                raise WorkspaceError(
                    f"{folder} ({source}) is not a workspace; `letopis init {folder}` makes it one and "
                    "leaves the files in it as they are"
                )
            return folder
    for folder in (current, *current.parents):
        if is_workspace(folder):
            return folder
    own = default_folder(configured, environ)
    if is_workspace(own):
        return own
    raise WorkspaceError(
        f"no workspace here, above, or at {own}; `letopis init` makes one in this folder, "
        f"`letopis init {own}` makes your own"
    )


def open_workspace(folder: Path) -> Workspace:
    """The workspace in a folder that exists. Raises WorkspaceError."""
    if not folder.is_dir():
        raise WorkspaceError(f"{folder} is not a folder; `letopis init {folder}` makes a workspace there")
    return Workspace(Path(os.path.realpath(folder)))
