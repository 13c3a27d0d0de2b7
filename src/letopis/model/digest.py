"""The text of a digest: a note that the program writes anew as the conversation goes on."""

from collections.abc import Sequence

from letopis.model import secrets
from letopis.model.messages import Message
from letopis.model.summary import is_russian
from letopis.model.text import one_line, printable, shorten
from letopis.model.transcript import Transcript

CLOSED = "- Closed:"
_ENGLISH = {
    "own": "_This note is rewritten as the conversation goes on; edits made here are lost._",
    "so far": "So far", "points": "Points", "last": "Last messages",
    "user": "User", "assistant": "Assistant", "title": "Conversation",
}  # fmt: skip
_RUSSIAN = {
    "own": "_Эта заметка переписывается по ходу разговора; правки в ней пропадут._",
    "so far": "До сих пор", "points": "Главное", "last": "Последние сообщения",
    "user": "Пользователь", "assistant": "Ассистент", "title": "Разговор",
}  # fmt: skip


def heading(transcript: Transcript) -> str:
    """The title: the first thing that the person said."""
    first = next((m for m in transcript.messages if m.spoken and m.role == "user" and m.text.strip()), None)
    return shorten(_safe(first.text), 60).lstrip("# ") if first else ""


def render(
    title: str, transcript: Transcript, points: Sequence[str], last: Sequence[Message], closed: Sequence[str] = ()
) -> str:
    """The whole note; with `closed` the paths of the summary, if any, and of the archive."""
    labels = _RUSSIAN if is_russian(transcript.messages) else _ENGLISH
    key = one_line(transcript.header.key) if transcript.header else ""
    lines = [f"# {title or labels['title']}", "", f"- Session ID: {transcript.session_id}", f"- Session Key: {key}"]
    if closed:
        lines.append(f"{CLOSED} {', '.join(f'[{path}](../../{path})' for path in closed if path)}")
    lines += ["", *([] if closed else [labels["own"], ""])]
    folded = transcript.folded.text()
    lines += [f"## {labels['so far']}", "", _redacted(folded), ""] if folded else []
    lines += [f"## {labels['points']}", "", *(f"- {_safe(point)}" for point in points), ""] if points else []
    quotes = [f"- **{labels.get(m.role, m.role)}** (#{m.n}): {shorten(_safe(m.text), 300)}" for m in last]
    lines += [f"## {labels['last']}", "", *quotes, ""] if quotes else []
    return printable("\n".join(lines)).rstrip("\n") + "\n"


def is_closed(text: str) -> bool:
    """Whether a note is the digest of a conversation that was closed."""
    return any(line.startswith(CLOSED) for line in text.splitlines()[:8])


def _safe(text: str) -> str:
    return one_line(_redacted(text))


def _redacted(text: str) -> str:
    return secrets.redact(text, False)
