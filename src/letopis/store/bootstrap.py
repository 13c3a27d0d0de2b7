"""The files that a person owns: read for prompts, and written only when the person edits one through us."""

import hashlib
from dataclasses import dataclass

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.model import names
from letopis.store import files
from letopis.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BootstrapFile:
    """A file of the person's. `problem` says why it could not be read, if it could not."""

    name: str
    text: str
    problem: str = ""


def read(workspace: Workspace, name: str) -> BootstrapFile | None:
    """The file of this name in the root of the workspace; None where there is none."""
    try:
        data = files.read(workspace.inside(name))
        if data is None:
            return None
        return BootstrapFile(name, data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        return BootstrapFile(name, "", f"{name} is not UTF-8 at byte {error.start}; save it as UTF-8")
    except (Unreadable, OutsideWorkspace) as error:
        return BootstrapFile(name, "", str(error))


def load(workspace: Workspace, name: str) -> bytes | None:
    """The bytes of a file of the person's; None where there is none. Raises Unreadable and OutsideWorkspace."""
    path = workspace.inside(name)
    return files.read(workspace.contained(path))


def save(workspace: Workspace, name: str, data: bytes, expected: bytes | None) -> bool:
    """Put what the person wrote in place; the bytes before it are kept among the backups.

    False, and nothing changed, where the file does not hold what was `expected` any more.
    """
    path = workspace.contained(workspace.inside(name))
    if expected is None:
        return files.create(path, data)
    digest = hashlib.sha256(expected).hexdigest()[:12]
    files.keep_copy(path, workspace.backups / f"{path.stem}-{digest}{path.suffix}")
    return files.replace(path, data, expected=expected)


def soul_of(persona: str) -> str:
    """The name of a persona's SOUL.md."""
    return "SOUL.md" if persona == "default" else f"personas/{names.slug(persona, 'persona')}/SOUL.md"
