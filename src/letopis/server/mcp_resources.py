"""What the MCP server shows to read: the profile, the facts, the notes and the conversations.

letopis://user                   USER.md
letopis://facts                  MEMORY.md
letopis://note/{name}            a note, such as memory/2026-03-01.md
letopis://session/{session_id}   a conversation, word for word; ?start=N goes on from message N
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from letopis.errors import InvalidInput, OutsideWorkspace, SessionNotFound, Unreadable
from letopis.memory import Memory
from letopis.model import secrets
from letopis.model.text import printable

SCHEME = "letopis"
USER, FACTS = f"{SCHEME}://user", f"{SCHEME}://facts"
NOTE, SESSION = f"{SCHEME}://note/{{name}}", f"{SCHEME}://session/{{session_id}}"
PAGE = 100
LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing to read: its address, name and what it is."""

    uri: str
    name: str
    description: str
    kind: str = "text/markdown"


def listed(memory: Memory, cursor: str | None) -> tuple[list[Shown], str | None]:
    """A page of what there is, and the cursor of the next page. Raises InvalidInput for a cursor of another place."""
    if cursor is not None and not cursor.isdecimal():
        raise InvalidInput(f"{cursor!r} is no cursor of this list; leave it out to begin anew")
    every = list(_all(memory))
    start = int(cursor or 0)
    after = start + PAGE
    return every[start:after], str(after) if after < len(every) else None


def _all(memory: Memory) -> Iterator[Shown]:
    yield Shown(USER, "USER.md", "Who the user is, in their own words.")
    yield Shown(FACTS, "MEMORY.md", "The curated facts of the long-term memory.")
    for line in memory.sessions():
        about = f"{line.state} conversation {line.key}, {line.message_count} messages, {line.updated_at[:16]}"
        yield Shown(f"{SCHEME}://session/{line.session_id}", line.slug or line.key, about, "text/plain")
    for name in memory.store.notes.names():
        if name != "memory/MEMORY.md":
            yield Shown(_note_uri(name), name, "A note of the memory.")


def read(memory: Memory, uri: str) -> tuple[str, str]:
    """The text at an address and its media type. Raises InvalidInput where there is nothing."""
    try:
        parts = urlsplit(uri)
        place, rest = parts.netloc, unquote(parts.path.lstrip("/"), errors="surrogateescape")
        if parts.scheme == SCHEME and place == "user" and not rest:
            return _user(memory), "text/markdown"
        if parts.scheme == SCHEME and place == "facts" and not rest:
            return _note(memory, "memory/MEMORY.md"), "text/markdown"
        if parts.scheme == SCHEME and place == "note" and rest in memory.store.notes.names():
            return _note(memory, rest), "text/markdown"
        if parts.scheme == SCHEME and place == "session" and rest:
            return _session(memory, rest, parse_qs(parts.query).get("start", ["1"])[0]), "text/plain"
    except (SessionNotFound, OutsideWorkspace) as error:
        raise InvalidInput(str(error)) from None
    except ValueError:
        raise InvalidInput(f"{uri[:200]!r} is no address of a resource") from None
    raise InvalidInput(f"there is nothing at {uri!r}; list the resources to see what there is")


def _note_uri(name: str) -> str:
    """The address of a note; a name that is no valid text keeps its bytes."""
    return f"{SCHEME}://note/{quote(name, errors='surrogateescape')}"


def _user(memory: Memory) -> str:
    file = memory.store.bootstrap("USER.md")
    if file is not None and file.problem:
        raise Unreadable(file.problem)
    return _bounded(file.text) if file is not None else "USER.md is not there yet."


def _note(memory: Memory, name: str) -> str:
    return _bounded(memory.store.notes.read(name) or "Nothing is kept here yet.")


def _session(memory: Memory, session_id: str, start: str) -> str:
    if not start.isdecimal():
        raise InvalidInput(f"start must be the number of a message, not {start!r}")
    line, transcript = memory.history(session_id=session_id)
    lines = [f"Session {line.session_id} · {line.key} · {line.state} · {len(transcript.messages)} messages", ""]
    size = 0
    for message in transcript.messages:
        if message.n < int(start) or message.internal:
            continue
        text = f"#{message.n} {message.timestamp[:16]} {message.role}: {secrets.redact(message.text)}"
        size += len(text)
        if size > LARGEST and len(lines) > 2:
            lines.append(f"(cut here; go on with {SCHEME}://session/{line.session_id}?start={message.n})")
            break
        lines.append(text)
    return printable("\n".join(lines))


def _bounded(text: str) -> str:
    whole = printable(text)
    return whole if len(whole) <= LARGEST else f"{whole[:LARGEST]}\n(cut here: {len(whole) - LARGEST} more characters)"


def stamps(memory: Memory) -> Mapping[str, str]:
    """What tells that a resource has changed, by address: for notices."""
    root = memory.store.workspace.root
    found = {line.uri: "" for line in _all(memory)}
    places = {USER: "USER.md", FACTS: "memory/MEMORY.md"}
    places |= {_note_uri(name): name for name in memory.store.notes.names()}
    for uri, name in places.items():
        try:
            stat = (root / name).stat()
            found[uri] = f"{stat.st_mtime_ns} {stat.st_size}"
        except OSError:
            found[uri] = ""
    for line in memory.sessions():
        found[f"{SCHEME}://session/{line.session_id}"] = f"{line.state} {line.message_count}"
    return found
