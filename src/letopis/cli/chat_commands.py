"""The commands inside a chat: each begins with a slash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from letopis.cli.context import drawn, record_of
from letopis.cli.memory import fact_record
from letopis.cli.sessions import line_of
from letopis.lifecycle.remember import Kept, Known
from letopis.model.text import decoded, one_line, shorten
from letopis.tools.goals import record_of as goal_record

if TYPE_CHECKING:
    from letopis.cli.chat import Chat

_SHOWN = 10


def run(chat: Chat, line: str) -> bool:
    """Carry out a command; False ends the chat."""
    name, _, rest = line.partition(" ")
    if name in ("/quit", "/exit", "/q"):
        return False
    handler = _COMMANDS.get(name)
    if handler is None:
        chat.complain(f"there is no command {name}; there are: {' '.join([*_COMMANDS, '/quit'])}")
    elif handler[2] and not rest.strip():
        chat.complain(f"{name} wants {handler[2]} behind it")
    else:
        handler[0](chat, rest.strip())
    return True


def _new(chat: Chat, rest: str) -> None:
    session_id = chat.memory.close(chat.key)
    if session_id is None:
        chat.app.show({"event": "empty"}, "Nothing was said yet; this is a new conversation.")
        return
    chat.worker.notify()
    chat.app.show({"event": "closed", "session_id": session_id}, f"Closed {session_id}. A new conversation begins.")


def _memory(chat: Chat, rest: str) -> None:
    view = chat.memory.store.facts.view()
    text = view.problem or view.document.for_prompt() or "Nothing is remembered yet."
    chat.app.show({"event": "memory", "facts": [fact_record(f) for f in view.facts], "problem": view.problem}, text)


def _remember(chat: Chat, rest: str) -> None:
    match chat.memory.remember(rest, key=f"{chat.key}:remember"):
        case Known(fact):
            chat.app.show({"event": "known", "fact": fact.id, "text": fact.text}, f"Known already: {fact.text}")
        case Kept(fact, before, _):
            instead = f"\nInstead of: {before.text}" if before else ""
            record = {"event": "remembered", "fact": fact.id, "text": fact.text}
            chat.app.show(record, f"Remembered: {fact.text}{instead}")


def _sessions(chat: Chat, rest: str) -> None:
    found = chat.memory.sessions()[:_SHOWN]
    records = [{**line.record(), "state": line.state} for line in found]
    text = "\n".join(line_of(line) for line in found)
    chat.app.show({"event": "sessions", "sessions": records}, text or "None yet.")


def _history(chat: Chat, rest: str) -> None:
    live = chat.memory.store.sessions.live(chat.key)
    if rest:
        live = chat.memory.history(session_id=rest)[1]
    messages = [m for m in live.messages if not m.stored.get("look_up")] if live else []
    records = [{"n": m.n, "role": m.role, "timestamp": m.timestamp, "text": m.text} for m in messages]
    lines = [f"#{m.n} {m.role}: {m.text}" for m in messages]
    chat.app.show({"event": "history", "messages": records}, "\n".join(lines) or "Nothing was said yet.")


def _search(chat: Chat, rest: str) -> None:
    found = chat.memory.search(rest)
    lines = ["Nothing holds all these words; the closest:"] if found.relaxed else []
    lines += [f"{hit.source}  {hit.date}\n  {shorten(one_line(hit.text), 300)}" for hit in found.hits]
    chat.app.show({"event": "found", **found.record()}, "\n".join(lines) or "Nothing found.")


def _context(chat: Chat, rest: str) -> None:
    prompt = chat.memory.context(chat.key)
    chat.app.show({"event": "context", **record_of(prompt)}, drawn(prompt))


def _goals(chat: Chat, rest: str) -> None:
    found = chat.memory.goals(chat.key)
    lines = [f"{goal.state:9} {goal.id}  {goal.text} (#{goal.opened})" for goal in found]
    chat.app.show({"event": "goals", "goals": [goal_record(g) for g in found]}, "\n".join(lines) or "No goals yet.")


def _restore(chat: Chat, rest: str) -> None:
    live = chat.memory.store.sessions.live(chat.key)
    if live is None:
        chat.complain("nothing was said yet, so there is nothing to go back to")
        return
    found = chat.memory.restore(live.session_id, rest)
    record = {"event": "restored", "n": found.thread.n, "text": found.text()}
    chat.app.show(record, found.text())


def _file(chat: Chat, rest: str) -> None:
    path = Path(rest.strip("'\"")).expanduser()
    try:
        text = decoded(path.read_bytes())
    except OSError as error:
        chat.complain(f"{path} cannot be sent: {error.strerror}")
        return
    if text is None:
        chat.complain(f"{path} cannot be sent: it is not text in UTF-8")
        return
    chat.say(text.removeprefix("\ufeff"))


def _help(chat: Chat, rest: str) -> None:
    lines = [f"{name:10} {about}" for name, (_, about, _) in _COMMANDS.items()]
    chat.app.show({"event": "help", "commands": [*_COMMANDS, "/quit"]}, "\n".join([*lines, "/quit      end the chat"]))


_COMMANDS: dict[str, tuple[Callable[[Chat, str], None], str, str]] = {
    "/new": (_new, "close this conversation and begin a new one", ""),
    "/memory": (_memory, "show what is remembered", ""),
    "/remember": (_remember, "keep a fact: /remember TEXT", "a fact"),
    "/sessions": (_sessions, "list the newest conversations", ""),
    "/history": (_history, "read this conversation back, or another: /history ID", ""),
    "/search": (_search, "find what was kept or said: /search WORDS", "words"),
    "/goals": (_goals, "show what you are trying to get done", ""),
    "/restore": (_restore, "show the thread as it was: /restore N or WORDS", "a message number or words"),
    "/context": (_context, "show what the next prompt is made of", ""),
    "/file": (_file, "send the text of a file as a message: /file PATH", "a path"),
    "/help": (_help, "this list", ""),
}
