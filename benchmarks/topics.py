"""Whether a change of topic is seen where it happens.

    python benchmarks/topics.py [FOLDER] [--words-only] [--json]

Marked dialogues are made by a seeded generator from `topics.txt` (Russian and English: pieces of
conversations, each of one topic): the first half of the pieces is what the weights were fitted
on, the second half is what is measured. With a FOLDER of conversations also the joins of their
sessions (recall within one message). Beside it, anchors by length alone.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from corpora import read
from report import report

from letopis.llm.embedding import BundledEmbedder, choose
from letopis.model import anchoring, turns
from letopis.model.messages import Message
from letopis.settings.tree import Settings
from letopis.short_term import topics

DIALOGUES, PIECES = 60, 5
JOINS_EACH, MOST_JOINS = 10, 40
Marked = tuple[list[Message], set[int]]


class Vectors:
    """Vectors of messages and of plain texts, each made once."""

    def __init__(self) -> None:
        self.embedder = choose(Settings())
        assert isinstance(self.embedder, BundledEmbedder), "the bundled embedder does not run here"
        self.known: dict[str, object] = {}

    def of(self, texts: Sequence[str]) -> list:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known.update(zip(new, self.embedder.passages(new), strict=True) if new else ())
        return [self.known[text] for text in texts]


def message(n: int, role: str, text: str, at: str = "2026-01-01T00:00:00+00:00") -> Message:
    return Message(n, at, role, {"content": text})


def pieces(language: str, tested: bool) -> list[list[tuple[str, str]]]:
    blocks = (Path(__file__).parent / "topics.txt").read_text("utf-8").split("\n\n")
    own = [b.strip().splitlines()[1:] for b in blocks if b.startswith(f"# {language}")]
    half = own[len(own) // 2 :] if tested else own[: len(own) // 2]
    return [[("user" if line[0] == "U" else "assistant", line[3:]) for line in block] for block in half]


def dialogues(language: str, tested: bool, seed: int) -> Iterator[Marked]:
    """Pieces joined at random, each cut after one to four of its turns; marked are the first messages of a topic."""
    maker, own = random.Random(seed), pieces(language, tested)
    for _ in range(DIALOGUES):
        said: list[tuple[str, str]] = []
        marks: set[int] = set()
        for piece in maker.sample(own, PIECES):
            marks.add(len(said) + 1)
            said += piece[: 2 * maker.randint(1, 4)]
        yield [message(n, role, text) for n, (role, text) in enumerate(said, 1)], marks - {1}


def joins(folder: Path, timed: bool = False) -> Iterator[Marked]:
    """The end of each session with the beginning of the next one; `timed`: with the days of both."""
    for corpus in read(folder):
        sessions = [s for s in corpus.sessions if len(s.messages) >= 8]
        for left, right in list(pairwise(sessions))[:JOINS_EACH]:
            said = [*left.messages[-12:], *right.messages[:6]]
            two = sorted({m.name for m in said})
            roles = dict(zip(two, ("user", "assistant"), strict=False)) if len(two) == 2 else {}
            own = [roles.get(m.name, m.role) for m in said]
            days = [left.day] * (len(said) - 6) + [right.day] * 6
            at = [day.isoformat() if day is not None and timed else "" for day in days]
            texts = [message(n, r, m.text, t) for n, (r, m, t) in enumerate(zip(own, said, at, strict=True), 1)]
            yield texts, {len(left.messages[-12:]) + 1}


def seen(said: Sequence[Message], vectors: Vectors | None) -> set[int]:
    """The messages with which a topic is taken to begin."""
    found, start = set(), said[0].n
    text_of = {m.n: m.text for m in said}
    near = (lambda ns: dict(zip(ns, vectors.of([text_of[n] for n in ns]), strict=True))) if vectors else None
    for turn in turns.split(said)[1:]:
        running = [m for m in said if start <= m.n < turn[0].n]
        if topics.shifts(turn, running, near, vectors.of if vectors else None):
            found.add(turn[0].n)
            start = turn[0].n
    return found


def by_length(said: Sequence[Message]) -> set[int]:
    """The same for anchors that are placed by length alone."""
    found, size = set(), 0
    for one in said:
        if size >= anchoring.LENGTH:
            found.add(one.n)
            size = 0
        size += len(one.text)
    return found


def scored(name: str, marked: Sequence[Marked], vectors: Vectors | None, within: int = 0) -> dict[str, object]:
    row: dict[str, object] = {"dialogues": name, "count": len(marked)}
    ways = {"words": lambda said: seen(said, None), "length": by_length}
    if vectors is not None:
        ways = {"vectors": lambda said: seen(said, vectors), **ways}
    if within:
        ways["topic or length"] = lambda said: seen(said, vectors) | by_length(said)
    for way, find in ways.items():
        right = found = hits = wanted = 0
        for said, marks in marked:
            own = find(said)
            found += len(own)
            wanted += len(marks)
            right += sum(any(abs(n - mark) <= within for mark in marks) for n in own)
            hits += sum(any(abs(n - mark) <= within for n in own) for mark in marks)
        if not within:
            row[f"{way} P"] = right / found if found else 0.0
        row[f"{way} R"] = hits / wanted
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    vectors = None if chosen.words_only else Vectors()
    rows = []
    for tested in (False, True):
        part = "tested" if tested else "fitted on"
        rows += [scored(f"{la} {part}", list(dialogues(la, tested, 7)), vectors) for la in ("ru", "en")]
    report("topics", rows)
    if chosen.folder:
        folders = sorted(p for p in chosen.folder.iterdir() if p.is_dir()) or [chosen.folder]
        found = [(p.name, list(islice(joins(p), MOST_JOINS))) for p in folders if p.name not in ("xquad-ru",)]
        report("session joins", [scored(name, marked, vectors, within=1) for name, marked in found if marked])
        found = [
            (p.name, list(islice(joins(p, timed=True), MOST_JOINS))) for p in folders if p.name not in ("xquad-ru",)
        ]
        report("with their days", [scored(name, marked, vectors, within=1) for name, marked in found if marked])


if __name__ == "__main__":
    main()
