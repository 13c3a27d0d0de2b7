"""Reads conversations with questions, in the plain form and in LoCoMo's own, for measuring retrieval."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_DATES = ("%Y-%m-%dT%H:%M:%S", "%B-%d-%Y", "%Y/%m/%d", "%I:%M %p on %d %B, %Y")
_TURN = re.compile(r"^\[([^\]]*)\]\s*(user|assistant):\s*(.*)$", re.DOTALL)
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class Said:
    """One message: its id in the corpus, who said it, and what."""

    id: str
    role: str
    name: str
    text: str


@dataclass
class Session:
    """Messages that were said together."""

    id: str
    day: datetime | None
    messages: list[Said] = field(default_factory=list)


@dataclass
class Question:
    """A question and the messages that answer it."""

    text: str
    category: str
    evidence: list[str]
    sessions: list[str]


@dataclass
class Corpus:
    """One file."""

    set: str
    name: str
    sessions: list[Session]
    questions: list[Question]


def read(folder: Path) -> Iterator[Corpus]:
    """Every corpus below a folder (or in a file), by name."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*.json"))
    for path in paths:
        data = json.loads(path.read_text("utf-8"))
        for at, item in enumerate(data if isinstance(data, list) else [data]):
            name = path.stem if not isinstance(data, list) else f"{path.stem}-{at}"
            if "conversation" in item:
                yield _locomo(name, item)
            elif "sessions" in item or "passages" in item:
                sessions = _sessions(item) if "sessions" in item else list(_passages(path.parent.name, item))
                yield Corpus(path.parent.name, name, sessions, list(_questions(item["questions"])))


def _moment(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text[: 19 if form.startswith("%Y-") else None].strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _sessions(item: dict[str, Any]) -> list[Session]:
    out = []
    for session in item["sessions"]:
        said = [Said(m["id"], m["role"], m.get("name") or "", m["content"]) for m in session["messages"]]
        out.append(Session(session["id"], _moment(session.get("started_at") or ""), said))
    return out


def _passages(set_name: str, item: dict[str, Any]) -> Iterator[Session]:
    """Passages are grouped: by their ids up to the last dot, or by the date that stands in them."""
    current: Session | None = None
    for passage in item["passages"]:
        text = passage["text"].lstrip("\ufeff")
        turn = _TURN.match(text)
        group = turn[1] if turn else passage["id"].rpartition(".")[0]
        if current is None or current.id.partition("|")[0] != group:
            if current is not None:
                yield current
            current = Session(f"{group}|{passage['id']}", _moment(turn[1][:10]) if turn else None)
        current.messages.append(Said(passage["id"], turn[2] if turn else "user", "", turn[3] if turn else text))
    if current is not None:
        yield current


def _questions(items: list[dict[str, Any]]) -> Iterator[Question]:
    for item in items:
        evidence = [str(e) for e in item.get("evidence") or []]
        sessions = [str(s) for s in item.get("evidence_sessions") or []]
        if (evidence or sessions) and item.get("category") != "adversarial":
            yield Question(item["question"], str(item.get("category") or "all"), evidence, sessions)


def paraphrases(path: Path) -> Iterator[Corpus]:
    """Statements, questions that share no words with them, and lines that share one or two, by language."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    for language in sorted({row[0] for row in rows}):
        own = [(f"{language}{at}", *row[1:]) for at, row in enumerate(rows) if row[0] == language]
        lines = [(id_, statement) for id_, statement, _, _ in own]
        lines += [(f"{id_}-other", other) for id_, _, _, other in own if other]
        random.Random(7).shuffle(lines)
        groups = [lines[start : start + 10] for start in range(0, len(lines), 10)]
        sessions = [
            Session(f"{language}-{at}", None, [Said(id_, "user", "", text) for id_, text in group])
            for at, group in enumerate(groups)
        ]
        questions = [Question(question, "all", [id_], []) for id_, _, question, _ in own]
        yield Corpus(f"paraphrases, {language}", language, sessions, questions)


_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(name: str, item: dict[str, Any]) -> Corpus:
    talk = item["conversation"]
    sessions = []
    for key in sorted((k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k[8:])):
        said = [Said(t["dia_id"], "user", t["speaker"], t["text"]) for t in talk[key]]
        sessions.append(Session(key, _moment(talk.get(f"{key}_date_time") or ""), said))
    ids = {m.id for s in sessions for m in s.messages}
    questions = [
        Question(q["question"], _CATEGORIES[q["category"]], [e for e in q["evidence"] if e in ids], [])
        for q in item["qa"]
        if q["category"] != 5 and any(e in ids for e in q["evidence"])
    ]
    return Corpus("locomo", name, sessions, questions)


START = _START
