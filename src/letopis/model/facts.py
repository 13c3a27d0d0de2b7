"""`MEMORY.md` as a document: headings, and bullets that are facts.

Text that is not a fact is kept to the byte, a person's BOM and CRLF too. A fact carries its id,
its date and its sources in a comment; the last line of the file names the batch of the journal
that it reflects, so an older version saved over a newer one is recognised for what it is.
"""

import hashlib
import itertools
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from letopis.model.text import normalise, one_line, printable

_BULLET = re.compile(r"^(\s{0,3}[-*+]\s+)(?=\S)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_COMMENT = re.compile(r"\s*<!--\s*f:([0-9a-f]{8})(?:\s+(\d{4}-\d{2}-\d{2}))?((?:\s+s:[a-z0-9-]+#\d+)*)\s*-->")
_MARKER = re.compile(r"^<!-- letopis: ([0-9a-f]{8}) -->$")
_ANY_COMMENT = re.compile(r"[ \t]*<!--.*?-->", re.DOTALL)
_QUOTES = str.maketrans(dict.fromkeys("«»“”„\"'’‘", ""))
DEFAULT_TEXT = "# Memory\n"


@dataclass(frozen=True, slots=True)
class Fact:
    """One bullet. `sources` are `session_id#n`; `date` is `YYYY-MM-DD` or empty."""

    id: str
    text: str
    section: str = ""
    date: str = ""
    sources: tuple[str, ...] = ()

    def comment(self) -> str:
        """The comment that carries the fact's identity."""
        return f"<!-- {' '.join(filter(None, [f'f:{self.id}', self.date, *(f's:{s}' for s in self.sources)]))} -->"


@dataclass(frozen=True, slots=True)
class Bullet:
    """Where a fact stands: lines `start` … `end - 1`. A hand-written one has no id yet."""

    start: int
    end: int
    prefix: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of the file, each with its own line end, and the facts among them."""

    lines: tuple[str, ...]
    bullets: tuple[Bullet, ...]
    newline: str
    marker: str | None
    bom: str = ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts in the order in which they stand; those without an id too."""
        return tuple(bullet.fact for bullet in self.bullets)

    def by_id(self) -> dict[str, Bullet]:
        """The first bullet of each id."""
        out: dict[str, Bullet] = {}
        for bullet in self.bullets:
            if bullet.fact.id:
                out.setdefault(bullet.fact.id, bullet)
        return out

    def text(self) -> str:
        """The whole file."""
        return self.bom + "".join(self.lines)

    def for_prompt(self) -> str:
        """The file without its comments, ours and a person's."""
        return _ANY_COMMENT.sub("", "".join(self.lines)).replace("\r\n", "\n").strip("\n")


def parse(text: str) -> Document:
    """The document in a file's text; any text is one."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    lines = tuple(part for part in re.split(r"(?<=\n)", text[len(bom) :]) if part)
    marker = next((m[1] for line in lines if (m := _MARKER.match(line.rstrip("\r\n")))), None)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    return Document(lines, tuple(_bullets(lines)), newline, marker, bom)


def _remade(document: Document, lines: list[str]) -> Document:
    return parse(document.bom + "".join(lines))


def _bullets(lines: tuple[str, ...]) -> list[Bullet]:
    found: list[Bullet] = []
    section, fence, comment, at = "", "", False, 0
    title = _title_at(lines)
    while at < len(lines):
        line = lines[at]
        opened = _FENCE.match(line)
        if fence or opened:
            fence = _next_fence(fence, opened)
        elif comment or _opens_comment(line):
            comment = "-->" not in line
        elif heading := _HEADING.match(line.rstrip("\r\n")):
            section = "" if at == title else _COMMENT.sub("", heading[1]).strip()
        elif match := _BULLET.match(line):
            end = _end_of_bullet(lines, at)
            found.append(_bullet(lines, at, end, match[1], section))
            at = end
            continue
        at += 1
    return found


def _title_at(lines: Sequence[str]) -> int | None:
    """The line of the file's title: a first heading of level one is nobody's section."""
    for at, line in enumerate(lines):
        if _HEADING.match(line.rstrip("\r\n")):
            return at if line.startswith("# ") else None
    return None


def _next_fence(fence: str, opened: re.Match[str] | None) -> str:
    if not fence:
        return opened[1] if opened else ""
    closes = opened is not None and opened[1].startswith(fence[0]) and len(opened[1]) >= len(fence)
    return "" if closes else fence


def _opens_comment(line: str) -> bool:
    return line.lstrip().startswith("<!--") and not _MARKER.match(line.rstrip("\r\n"))


def _end_of_bullet(lines: tuple[str, ...], start: int) -> int:
    """Lines that are indented under a bullet belong to it; anything else is text of its own."""
    at = start + 1
    while at < len(lines) and lines[at].startswith(("  ", "\t")) and lines[at].strip():
        at += 1
    return at


def _bullet(lines: tuple[str, ...], start: int, end: int, prefix: str, section: str) -> Bullet:
    body = "".join(lines[start:end])[len(prefix) :]
    match = _COMMENT.search(body)
    text = one_line(_ANY_COMMENT.sub("", body))
    sources = tuple(part[2:] for part in match[3].split()) if match else ()
    fact = Fact(match[1] if match else "", text, section, (match[2] or "") if match else "", sources)
    return Bullet(start, end, prefix, fact)


# --- edits: each returns a new document -------------------------------------------------


def new_id(text: str, taken: Container[str]) -> str:
    """Eight hex digits for a fact, the same for the same text unless they are taken."""
    for count in itertools.count():
        made = hashlib.sha256(f"{comparable(text)}\0{count}".encode("utf-8", "replace")).hexdigest()[:8]
        if made not in taken:
            return made
    raise AssertionError


def identified(document: Document, known: Mapping[str, Fact], date: str) -> Document:
    """The document in which every fact has an id of its own; a copied id counts as none.

    A bullet that says what a known fact says, and whose id stands nowhere in the file, is that
    fact: somebody took its comment out.
    """
    first = document.by_id()
    seen, kept = set(first), {id(bullet) for bullet in first.values()}
    lost = {comparable(fact.text): fact for fact in known.values() if fact.id not in seen}
    lines = list(document.lines)
    for bullet in document.bullets:
        if id(bullet) in kept:
            continue
        fact = bullet.fact
        same = lost.pop(comparable(fact.text), None) if not fact.id else None
        fresh = same or replace(
            fact,
            id=new_id(fact.text, seen | known.keys()),
            date=fact.date or date,
            sources=() if fact.id else fact.sources,
        )
        seen.add(fresh.id)
        for at in range(bullet.start, bullet.end):
            lines[at] = _COMMENT.sub("", lines[at])
        lines[bullet.start] = _with_comment(lines[bullet.start], fresh, document.newline)
    return _remade(document, lines)


def _with_comment(line: str, fact: Fact, newline: str) -> str:
    body = line.rstrip("\r\n")
    return f"{body.rstrip()} {fact.comment()}{line[len(body) :] or newline}"


def added(document: Document, fact: Fact) -> Document:
    """The document with the fact at the end of its section, which is made if it is missing."""
    lines = list(document.lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += document.newline
    line = f"- {fact.text} {fact.comment()}{document.newline}"
    at = _place(document, fact.section)
    if at is None:
        end = _end_of_text(lines)
        heading = [f"## {fact.section}{document.newline}", document.newline] if fact.section else []
        gap = [document.newline] if end and lines[end - 1].strip() else []
        lines[end:end] = [*gap, *heading, line]
    else:
        text_follows = at < len(lines) and lines[at].strip() and not _BULLET.match(lines[at])
        lines[at:at] = [line, document.newline] if text_follows else [line]
    return _remade(document, lines)


def _place(document: Document, section: str) -> int | None:
    wanted = normalise(section)
    inside = [b for b in document.bullets if normalise(b.fact.section) == wanted]
    if inside:
        return inside[-1].end
    title = _title_at(document.lines)
    for at, line in enumerate(document.lines):
        heading = _HEADING.match(line.rstrip("\r\n"))
        if not heading or at == title:
            continue
        if not section:
            return at
        if normalise(heading[1]) == wanted:
            blank = at + 1 < len(document.lines) and not document.lines[at + 1].strip()
            return at + 2 if blank else at + 1
    return None


def _end_of_text(lines: list[str]) -> int:
    end = len(lines)
    while end and (_MARKER.match(lines[end - 1].rstrip("\r\n")) or not lines[end - 1].strip()):
        end -= 1
    return end


def replaced(document: Document, fact: Fact) -> Document:
    """The document with the fact of this id in its new form, where the old one stood."""
    bullet = document.by_id()[fact.id]
    lines = list(document.lines)
    line = f"{bullet.prefix}{fact.text} {fact.comment()}{document.newline}"
    lines[bullet.start : bullet.end] = [line]
    return _remade(document, lines)


def without(document: Document, fact_ids: Container[str]) -> Document:
    """The document without these facts."""
    gone = {at for b in document.bullets if b.fact.id in fact_ids for at in range(b.start, b.end)}
    return _remade(document, [line for at, line in enumerate(document.lines) if at not in gone])


def without_prose(document: Document) -> Document:
    """The document's headings and facts alone."""
    inside = {at for b in document.bullets for at in range(b.start, b.end)}
    kept = [line for at, line in enumerate(document.lines) if at in inside or _HEADING.match(line.rstrip("\r\n"))]
    return _remade(document, kept)


def marked(document: Document, batch: str) -> Document:
    """The document whose last line names the batch that it reflects."""
    lines = [line for line in document.lines if not _MARKER.match(line.rstrip("\r\n"))]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += document.newline
    if lines and lines[-1].strip():
        lines.append(document.newline)
    lines.append(f"<!-- letopis: {batch} -->{document.newline}")
    return _remade(document, lines)


def looks_cut(found: Document, kept: Document) -> bool:
    """Whether the file found is a save of `kept`, or of an edit of it, that stopped half-way.

    Such a save has no last line of ours, and either no end of line or far too few facts.
    """
    if found.marker is not None or kept.marker is None:
        return False
    if not "".join(found.lines).strip() or not found.lines[-1].endswith("\n"):
        return True
    still = found.by_id().keys() & kept.by_id().keys()
    return loses_too_much(len(kept.bullets), len(kept.bullets) - len(still)) and not found.bullets[len(still) :]


def loses_too_much(facts_before: int, lost: int) -> bool:
    """More than a quarter of the facts, and at least four: never without a person's word."""
    return lost >= 4 and lost * 4 > facts_before


def mended(found: Document, kept: Document) -> Document:
    """The cut file with what followed the cut in the version that was kept."""
    whole = [line for line in found.lines if line.endswith("\n")]
    torn = found.lines[-1] if len(whole) < len(found.lines) else ""
    if tuple(whole) == kept.lines[: len(whole)] and "".join(kept.lines[len(whole) :]).startswith(torn):
        return kept
    if torn and not any(line.startswith(torn) for line in kept.lines):
        whole.append(torn + found.newline)
    once = {line: at for at, line in enumerate(kept.lines) if line.strip() and kept.lines.count(line) == 1}
    anchor = next((once[line] for line in reversed(whole) if line in once), -1)
    return _remade(kept, [*whole, *kept.lines[anchor + 1 :]])


def comparable(text: str) -> str:
    """A fact's text as it is compared: case, ё, quotes, articles and the final stop aside."""
    bare = normalise(text).translate(_QUOTES).replace("—", "-").replace("–", "-").rstrip(" .!;…")
    return " ".join(word for word in bare.split() if word not in ("a", "an", "the"))


def clean(text: str) -> str:
    """The text of a fact as it can stand on one bullet line: nothing in it opens or closes a comment."""
    bare = re.sub(r"<(?=[<!]*!-*-)|--+>", "", printable(text))
    while "<!--" in bare or "-->" in bare:
        bare = bare.replace("<!--", "").replace("-->", "")
    return one_line(bare).lstrip("-*+#> ").strip()
