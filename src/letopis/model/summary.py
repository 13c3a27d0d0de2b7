"""Notes on closed sessions: the summary, and the raw note where no model could make one.

The header lines tie a note to its session; links resolve both ways.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from letopis.model import guards, names, secrets
from letopis.model.messages import Message
from letopis.model.proposals import Summary
from letopis.model.text import is_cyrillic, one_line, printable, shorten, words
from letopis.model.turns import last_spoken

RAW_MESSAGES = 20
_QUOTE_CHARACTERS = 600
_HEADER = re.compile(r"^\s*[-*]?\s*\**(Session ID|Session Key|Ended At|Transcript|Session Index)\**:\s*(.*?)\s*$")
_ENGLISH = {
    "summary": "Summary", "decisions": "Decisions", "next_steps": "Next steps", "topics": "Topics and files",
    "key_messages": "Key messages", "raw": "Last messages", "title": "Conversation",
    "raw_note": "No model made a summary; these are the last messages as they were said.",
    "user": "User", "assistant": "Assistant",
}  # fmt: skip
_RUSSIAN = {
    "summary": "Итог", "decisions": "Решения", "next_steps": "Дальнейшие шаги", "topics": "Темы и файлы",
    "key_messages": "Ключевые сообщения", "raw": "Последние сообщения", "title": "Разговор",
    "raw_note": "Модель не сделала итога; это последние сообщения, как они были сказаны.",
    "user": "Пользователь", "assistant": "Ассистент",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NoteHeader:
    """What ties a note to its session. Paths are relative to the workspace."""

    session_id: str
    key: str
    ended_at: str
    transcript_path: str
    index_path: str

    def lines(self) -> list[str]:
        """The header lines; links are relative to the folder of the notes."""
        key = one_line(self.key)
        return [
            f"- Session ID: {self.session_id}",
            f"- Session Key: {printable(key)}",
            f"- Ended At: {self.ended_at}",
            f"- Transcript: [{self.transcript_path}](../{self.transcript_path})",
            f"- Session Index: [{self.index_path}](../{self.index_path})",
        ]


def is_russian(messages: Sequence[Message]) -> bool:
    """Whether the people of a conversation write in Cyrillic."""
    said = "\n".join(m.text[:2000] for m in messages if m.spoken and m.role == "user")
    return bool(is_cyrillic(said or "\n".join(m.text[:2000] for m in messages if m.spoken)))


def render(header: NoteHeader, summary: Summary, messages: Sequence[Message]) -> str:
    """The summary note; key messages are quoted from the transcript itself."""
    labels = _RUSSIAN if is_russian(messages) else _ENGLISH
    by_number = {m.n: m for m in messages if m.spoken}
    quoted = [by_number[n] for n in dict.fromkeys(summary.key_messages) if n in by_number]
    blocks = [_title(summary.title, labels["title"]), *header.lines(), "", f"## {labels['summary']}", ""]
    blocks += [_paragraph(summary.summary), ""]
    for name in ("decisions", "next_steps", "topics"):
        items = [shorten(_safe(item), 500) for item in getattr(summary, name) if one_line(item)]
        if items:
            blocks += [f"## {labels[name]}", "", *(f"- {item}" for item in items), ""]
    if quoted:
        blocks += [f"## {labels['key_messages']}", "", *_quotes(quoted, labels), ""]
    return _finish(blocks)


def render_raw(header: NoteHeader, messages: Sequence[Message]) -> str:
    """The raw note: the last messages that were said."""
    labels = _RUSSIAN if is_russian(messages) else _ENGLISH
    last = last_spoken(messages, RAW_MESSAGES)
    first = next((m for m in messages if m.spoken and m.role == "user" and m.text.strip()), None)
    title = shorten(_safe(first.text), 60) if first else ""
    blocks = [_title(title, labels["title"]), *header.lines(), "", f"_{labels['raw_note']}_", ""]
    return _finish([*blocks, f"## {labels['raw']}", "", *_quotes(last, labels), ""])


def _title(title: str, fallback: str) -> str:
    return f"# {_safe(title).lstrip('# ') or fallback}\n"


def _safe(text: str) -> str:
    """Text of others on one line, its secrets behind marks."""
    return one_line(secrets.redact(printable(text), bool(is_cyrillic(text))))


def _paragraph(text: str) -> str:
    """Model text that cannot pass for a heading or a header line of ours."""
    safe = secrets.redact(text.strip(), bool(is_cyrillic(text)))
    return "\n".join(re.sub(r"^\s*(?:#+|[-*]\s+(?=\**Session ))\s*", "", line) for line in safe.splitlines())


def _quotes(messages: Sequence[Message], labels: dict[str, str]) -> list[str]:
    return [
        f"- **{labels.get(m.role, m.role)}** (#{m.n}): {shorten(_safe(m.text), _QUOTE_CHARACTERS)}" for m in messages
    ]


def _finish(blocks: list[str]) -> str:
    return printable("\n".join(blocks)).rstrip("\n") + "\n"


def header_fields(text: str) -> dict[str, str]:
    """The header lines of a session's note, by name: those right under its title, and no others."""
    out: dict[str, str] = {}
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[0].startswith("# "):
        return out
    for line in lines[1:12]:
        match = _HEADER.match(line.rstrip("\r"))
        if match:
            link = re.fullmatch(r"\[(.*)\]\(.*\)", match[2])
            out.setdefault(match[1], link[1] if link else match[2])
        elif line.strip() or out:
            break
    return out


def is_session_note(name: str) -> bool:
    """Whether a note is named as the notes of closed sessions are."""
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}-\d{4}-.+\.md", name.rpartition("/")[2]) is not None


def slug_of(summary: Summary | None, messages: Sequence[Message]) -> str:
    """A name for the session: the model's if it is one, else the title, else the first words said."""
    said = (secrets.without(m.text) for m in messages if m.spoken and m.role == "user")
    first = next((text for text in said if words(text)), "")
    proposals = [summary.slug, summary.title] if summary else []
    for text in (*proposals, " ".join(first.split()[:6])):
        made = names.slug(text, "") if _may_name(text) else ""
        if made:
            return made
    return names.slug(" ".join(words(first)[:6]))


def _may_name(text: str) -> bool:
    """Whether a text may become a file's name: no path, no error, no secret."""
    if not text or len(text) > 100 or any(c in text for c in "/\\.:"):
        return False
    return not (secrets.holds_secret(text) or guards.is_error_text(text))


def kind_of_note(name: str, of_session: bool) -> str:
    """What a note is, by its name: fact, archived, summary, raw, daily, digest or note."""
    bare = name.rpartition("/")[2]
    if bare == "MEMORY.md":
        return "fact"
    if bare == "facts-archive.md":
        return "archived"
    if of_session:
        return "raw" if bare.endswith("-session-raw.md") else "summary"
    if "/conversations/" in name:
        return "digest"
    return "daily" if re.fullmatch(r"\d{4}-\d{2}-\d{2}\.md", bare) else "note"
