"""Anthropic's memory tool over a workspace: what Claude keeps for itself are notes that a person can read and search.

    from letopis.adapters.anthropic import MemoryTool

    client.beta.messages.run_tools(model=..., messages=..., tools=[MemoryTool(memory)])

`/memories/plan` is the note `memory/notes/plan.md`; no path leads anywhere else.
"""

from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaAbstractMemoryTool

from letopis.errors import InvalidInput, LetopisError
from letopis.memory import Memory
from letopis.model import secrets
from letopis.model.text import is_unicode
from letopis.store.kept_notes import KeptNotes

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT = "/memories"


class MemoryTool(BetaAbstractMemoryTool):
    """The commands of the tool. Errors come back as the text of the result, so that the model can act on them."""

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options)
        store = memory.store
        self._notes = KeptNotes(store.workspace, store.locks, store.clock)

    def execute(self, command: Any) -> Any:
        """Carry out a command."""
        try:
            return super().execute(command)
        except LetopisError as error:
            return f"Error: {error}"

    def view(self, command: "BetaMemoryTool20250818ViewCommand") -> str:
        """A file with line numbers, or the files below a folder."""
        name = _name(command.path)
        text = self._notes.read(name) if name else None
        if text is not None:
            first, last = command.view_range or (1, -1)
            lines = text.split("\n")
            first = max(1, first)
            shown = lines[first - 1 : None if last == -1 else last]
            numbered = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(shown, first))
            return f"Here's the content of {command.path} with line numbers:\n{numbered}"
        found = [one for one in self._notes.names() if not name or one.startswith(f"{name}/")]
        if name and not found:
            raise InvalidInput(f"the path {command.path} does not exist")
        return "\n".join([f"Here are the files in {command.path}:", *(f"{ROOT}/{one}" for one in found)])

    def create(self, command: "BetaMemoryTool20250818CreateCommand") -> str:
        """Write a file; what stood there is kept among the backups."""
        self._write(command.path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: "BetaMemoryTool20250818StrReplaceCommand") -> str:
        """Replace a text that stands once in a file."""
        text = self._text(command.path)
        count = text.count(command.old_str)
        if count != 1:
            raise InvalidInput(f"the text to replace stands {count} times in {command.path}; it must stand there once")
        self._write(command.path, text.replace(command.old_str, command.new_str), text)
        return f"The memory file {command.path} has been edited."

    def insert(self, command: "BetaMemoryTool20250818InsertCommand") -> str:
        """Put lines behind a line of a file."""
        text = self._text(command.path)
        lines = text.split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise InvalidInput(f"{command.path} has {len(lines)} lines, and none {command.insert_line}")
        lines[command.insert_line : command.insert_line] = [command.insert_text.rstrip("\n")]
        self._write(command.path, "\n".join(lines), text)
        return f"The file {command.path} has been edited."

    def delete(self, command: "BetaMemoryTool20250818DeleteCommand") -> str:
        """Remove a file, or a folder with all in it."""
        name = _name(command.path)
        if not name:
            raise InvalidInput("the root of the memory cannot be removed")
        if not self._notes.remove(name):
            raise InvalidInput(f"the path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: "BetaMemoryTool20250818RenameCommand") -> str:
        """Give a file or folder another name."""
        if not self._notes.move(_name(command.old_path), _name(command.new_path)):
            raise InvalidInput(f"the path {command.old_path} does not exist")
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Remove all files."""
        for name in self._notes.names():
            self._notes.remove(name)
        return "All memory cleared"

    def _text(self, path: str) -> str:
        text = self._notes.read(_name(path))
        if text is None:
            raise InvalidInput(f"the path {path} does not exist")
        return text

    def _write(self, path: str, text: str, expected: str | None = None) -> None:
        if secrets.holds_secret(text):
            raise InvalidInput("the text holds a password, key or token, which are never kept in notes")
        if not self._notes.write(_name(path), text, expected):
            raise InvalidInput(f"{path} was changed meanwhile; view it again")


def _name(path: str) -> str:
    """The name of a note at a path of the tool."""
    if path.rstrip("/") == ROOT:
        return ""
    if not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"the path {path!r} must begin with {ROOT}/")
    name = path[len(ROOT) + 1 :].rstrip("/")
    if not is_unicode(name):
        raise InvalidInput(f"the path {path!r} holds half of a character")
    return name
