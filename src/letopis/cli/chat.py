"""`letopis chat`: the conversation in a terminal, or line by line where there is none."""

import json
import os
import queue
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from letopis.cli import chat_commands
from letopis.cli.app import App, common, printable
from letopis.cli.finishing import finish, show_outcome
from letopis.errors import LetopisError, WorkspaceError
from letopis.model.text import decoded
from letopis.turn import Done, Event, Failed, Handed, TextDelta, ToolDone, ToolStarted

if TYPE_CHECKING:
    from letopis.memory import Memory


@click.command("chat")
@click.option("--key", default="cli:local", show_default=True, help="The address of the conversation.")
@click.option("--persona", default="default", help="The character to talk to (personas/NAME/SOUL.md).")
@common
def command(app: App, key: str, persona: str) -> None:
    """Talk. Every word is kept; /help lists the commands of the chat.

    Where standard input is no terminal, each line is one message or command; with --json each
    line of input may be a JSON text or object {"message": …}, and events come out one a line.
    """
    memory = app.memory_in(_folder(app))
    memory.check_persona(persona)
    if not app.json and sys.stdin.isatty():
        _greet(memory)
    Chat(app, memory, key, persona).run()


def _folder(app: App) -> Path:
    """The workspace meant; the user's own is made where there is none."""
    from letopis.settings import load
    from letopis.store import workspace
    from letopis.store.init import init

    try:
        return app.folder()
    except WorkspaceError:
        if app.workspace or os.environ.get("LETOPIS_WORKSPACE"):
            raise
    own = workspace.default_folder(load(None, os.environ).settings.workspace, os.environ)
    init(own)
    click.echo(f"Made your workspace: {own}", err=True)
    return own


def _greet(memory: "Memory") -> None:
    model = memory.store.settings.model.name or "no model (see `letopis config`)"
    click.echo(f"{memory.store.workspace.root} · {model} · /help for commands, /quit to end")


class Chat:
    """A conversation with one key."""

    def __init__(self, app: App, memory: "Memory", key: str, persona: str) -> None:
        self.app, self.memory, self.key, self.persona = app, memory, key, persona
        self.failed = False
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.worker = memory.worker(self.done.put)

    def run(self) -> None:
        """Until /quit or the end of input; then the closings in the queue are finished."""
        self.worker.start()
        try:
            for line in self._lines():
                self._show_done()
                if not self._take(line):
                    break
        finally:
            self._finish()
            self.memory.flush()
        if self.failed and not sys.stdin.isatty():
            raise click.exceptions.Exit(1)

    def _finish(self) -> None:
        """Let the worker end what it is at, in sight, then finish the rest; Ctrl-C leaves it queued."""
        try:
            said = ""
            while not self.worker.stop(timeout=0.2):
                if self.worker.step != said and not self.app.json:
                    said = self.worker.step
                    click.echo(f"closing: {said} … (Ctrl-C leaves it queued)", err=True)
        except KeyboardInterrupt:
            left = len(self.memory.store.sessions.closing())
            self.app.show({"event": "queued", "waiting": left}, f"\n{left} closings stay queued.")
            return
        self._show_done()
        finish(self.app, self.memory)

    def complain(self, problem: str) -> None:
        """Say what went wrong; the chat goes on."""
        self.failed = True
        self.app.show({"event": "error", "error": problem}, click.style(f"error: {problem}", fg="red"))

    def _take(self, line: str) -> bool:
        """One message or command; False ends the chat. An error never does."""
        try:
            if line.startswith("/"):
                return chat_commands.run(self, line)
            self.say(line)
        except LetopisError as error:
            self.complain(str(error))
        return True

    def say(self, text: str) -> None:
        """Send a message and show the answer; Ctrl-C stops it and keeps what came."""
        if not text.strip():
            return
        events = self.memory.stream(self.key, text, persona=self.persona)
        try:
            for event in events:
                self._show(event)
        except KeyboardInterrupt:
            events.close()  # type: ignore[attr-defined]
            self.app.show({"event": "stopped"}, "\n(stopped; what came is kept)")

    def _show(self, event: Event) -> None:
        self.failed = self.failed or isinstance(event, Failed)
        if self.app.json:
            self.app.event(_record(event))
            return
        match event:
            case TextDelta(text):
                click.echo(printable(text), nl=False)
            case ToolStarted(name, arguments):
                click.echo(click.style(printable(f"\n[{name} {arguments}]"), dim=True))
            case ToolDone():
                pass
            case Done():
                click.echo()
            case Failed(error, session_id, n):
                click.echo(click.style(f"\nerror: {error}", fg="red"))
                click.echo(click.style(f"Your message is kept ({session_id}#{n}).", dim=True))

    def _show_done(self) -> None:
        while not self.done.empty():
            show_outcome(self.app, self.done.get())

    # --- where the lines come from ----------------------------------------------------------

    def _lines(self) -> Iterator[str]:
        if not self.app.json and sys.stdin.isatty():
            yield from self._typed()
            return
        for number, raw in enumerate(sys.stdin.buffer, 1):
            text = decoded(raw.rstrip(b"\r\n"))
            if text is None:
                self.complain(f"line {number} of the input is not UTF-8 and was not sent")
            elif text.strip():
                yield _message_in(text) if self.app.json else text

    def _typed(self) -> Iterator[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        live = self.memory.store.sessions.live(self.key)
        said = [m.text for m in live.messages if m.role == "user"] if live else []
        session: PromptSession[str] = PromptSession(history=InMemoryHistory(said))
        while True:
            try:
                yield session.prompt("› ")
            except KeyboardInterrupt:
                continue
            except EOFError:
                return


def _message_in(line: str) -> str:
    """The message of a line of JSON input; a line that is no JSON is the message itself."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if isinstance(value, dict):
        value = next((value[n] for n in ("message", "content", "text", "command") if n in value), line)
    return value if isinstance(value, str) else line


def _record(event: Event) -> dict[str, Any]:
    match event:
        case TextDelta(text):
            return {"event": "text", "text": text}
        case ToolStarted(name, arguments):
            return {"event": "tool", "name": name, "arguments": arguments}
        case ToolDone(name, result):
            return {"event": "tool_result", "name": name, "result": result}
        case Done(text, session_id, n):
            return {"event": "done", "text": text, "session_id": session_id, "n": n}
        case Handed(calls, _, session_id, n):
            return {"event": "handed", "tools": [c.name for c in calls], "session_id": session_id, "n": n}
        case Failed(error, session_id, n):
            return {"event": "failed", "error": str(error), "session_id": session_id, "n": n}
