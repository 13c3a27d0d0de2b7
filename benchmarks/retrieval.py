"""How well search finds the evidence for a question, beside plain baselines in the same run.

    python benchmarks/retrieval.py FOLDER|benchmarks/paraphrases.tsv [--one-store] [--cache FILE] [--json]

Each file becomes a workspace of archived sessions, made through the public API, and every
question is asked with `search(scope="transcripts")`. R@k is the share of a question's evidence
among the first k, averaged over the questions.
"""

import argparse
import hashlib
import random
import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from corpora import START, Corpus, Question, paraphrases, read
from report import report

from letopis.llm.connect import Models
from letopis.llm.embedding import BundledEmbedder
from letopis.memory import Memory, open_memory
from letopis.model import pieces, terms
from letopis.store.init import init

DEPTH = 20
ONE_STORE_QUESTIONS = 150
SYSTEMS = ("letopis", "letopis, words only", "FTS5", "BM25, stemmed", "dense", "RRF 60")
FIGURES = ("R@1", "R@5", "R@10", "R@20", "hit@1", "hit@10", "MRR", "NDCG@10", "session R@5", "session NDCG@10")


class Cached:
    """An embedder that keeps what it made, by content."""

    def __init__(self, path: str) -> None:
        self.inner = BundledEmbedder()
        self.identity = self.inner.identity
        self.size = self.inner.size
        self.store = sqlite3.connect(path, isolation_level=None)
        self.store.execute("CREATE TABLE IF NOT EXISTS v (k TEXT PRIMARY KEY, b BLOB)")

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._made("query", texts)

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        return self._made("passage", texts)

    def _made(self, kind: str, texts: Sequence[str]) -> np.ndarray:
        rows = []
        for text in texts:
            key = hashlib.sha256(f"{kind}\0{text.strip()}".encode("utf-8", "replace")).hexdigest()
            found = self.store.execute("SELECT b FROM v WHERE k = ?", (key,)).fetchone()
            if found is None:
                made = (self.inner.queries if kind == "query" else self.inner.passages)([text])[0]
                self.store.execute("INSERT OR REPLACE INTO v VALUES (?, ?)", (key, made.astype(np.float16).tobytes()))
                rows.append(made)
            else:
                rows.append(np.frombuffer(found[0], np.float16).astype(np.float32))
        return np.array(rows, np.float32).reshape(len(rows), -1)


class Calendar:
    """The time of each session, as its corpus gives it."""

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


class World:
    """A workspace with conversations in it, and where each message came to stand."""

    def __init__(self, folder: Path, corpora: Iterable[Corpus], cache: str) -> None:
        init(folder)
        self.clock, self.embedder = Calendar(), Cached(cache)
        self.memory = self._open(folder, self.embedder)
        self.bare = self._open(folder, None)
        self.ids: dict[str, str] = {}
        self.session: dict[str, str] = {}
        self.texts: dict[str, tuple[str, str]] = {}
        for corpus in corpora:
            self._fill(corpus)
        self.memory.flush()
        self.memory.index.sync()
        self.memory.index.fill()
        self.baselines = Baselines(self.texts, self.embedder)

    def _open(self, folder: Path, embedder: Cached | None) -> Memory:
        kind = {} if embedder else {"embedding__kind": "none"}
        settings = {"durability": "batch", "session_memory__enabled": False, **kind}
        return open_memory(
            folder, models=Models(None, None), embedder=embedder, clock=self.clock, environ={}, **settings
        )

    def _fill(self, corpus: Corpus) -> None:
        prefix = f"{corpus.set}/{corpus.name}/"
        for session in corpus.sessions:
            self.clock.moment = session.day or self.clock.moment + timedelta(hours=1)
            for said in session.messages:
                name = {"name": said.name} if said.name else {}
                stored = self.memory.append(prefix, {"role": said.role, "content": said.text, **name})
                self.ids[f"{stored.session_id}#{stored.n}"] = prefix + said.id
                self.session[prefix + said.id] = prefix + session.id
                self.texts[prefix + said.id] = (said.name, said.text)
            self.memory.close(prefix)
        self.memory.drain()

    def ask(self, system: str, question: str) -> list[str]:
        """The ids of the messages that a system finds, best first."""
        if not system.startswith("letopis"):
            return self.baselines.ask(system, question)
        memory = self.bare if "words" in system else self.memory
        found = memory.search(question, scope="transcripts", k=DEPTH)
        assert found.status in ("ok", "empty"), found
        return [self.ids[hit.source] for hit in found.hits]


class Baselines:
    """What anybody would try first, over the same messages."""

    def __init__(self, texts: dict[str, tuple[str, str]], embedder: Cached) -> None:
        self.ids = list(texts)
        self.embedder = embedder
        self.base = sqlite3.connect(":memory:")
        self.base.execute("CREATE VIRTUAL TABLE plain USING fts5(t)")
        self.base.execute("CREATE VIRTUAL TABLE stemmed USING fts5(t)")
        rows = []
        for at, (name, text) in enumerate(texts.values(), 1):
            self.base.execute("INSERT INTO plain (rowid, t) VALUES (?, ?)", (at, text))
            self.base.execute("INSERT INTO stemmed (rowid, t) VALUES (?, ?)", (at, " ".join(terms.terms(text))))
            rows += [(at - 1, f"{name}: {piece}" if name else piece) for piece in pieces.split(text) or [" "]]
        self.owner = np.array([at for at, _ in rows])
        self.vectors = embedder.passages([text for _, text in rows])

    def ask(self, system: str, question: str) -> list[str]:
        words = terms.asked(question)
        if system == "FTS5":
            return self._words("plain", "".join(c if c.isalnum() else " " for c in question).split())
        if system == "BM25, stemmed":
            return self._words("stemmed", words)
        if system == "dense":
            return self._dense(question)
        lists = (self._words("stemmed", words, 200), self._dense(question, 200))
        scores: dict[str, float] = defaultdict(float)
        for ranked in lists:
            for place, id_ in enumerate(ranked):
                scores[id_] += 1 / (60 + place + 1)
        return sorted(scores, key=lambda id_: -scores[id_])[:DEPTH]

    def _words(self, table: str, words: list[str], depth: int = DEPTH) -> list[str]:
        meant = [w for w in words if w.casefold() not in terms.STOP_WORDS] or words
        asked = " OR ".join('"' + w.replace('"', '""') + '"' for w in meant)
        rows = self.base.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY bm25({table}) LIMIT ?", (asked, depth)
        )
        return [self.ids[row[0] - 1] for row in rows] if asked else []

    def _dense(self, question: str, depth: int = DEPTH) -> list[str]:
        near = self.vectors @ self.embedder.queries([question])[0]
        best = np.full(len(self.ids), -2.0)
        np.maximum.at(best, self.owner, near)
        return [self.ids[at] for at in np.argsort(-best, kind="stable")[:depth]]


def figures(found: list[str], evidence: list[str], session: dict[str, str], wanted: list[str]) -> dict[str, float]:
    """The figures of one question."""
    out: dict[str, float] = {}
    if evidence:
        places = [found.index(e) if e in found else DEPTH * 50 for e in evidence]
        out |= {f"R@{k}": sum(p < k for p in places) / len(places) for k in (1, 5, 10, 20)}
        out |= {f"hit@{k}": float(min(places) < k) for k in (1, 10)}
        out["MRR"] = 1 / (1 + min(places)) if min(places) < DEPTH else 0.0
        out["NDCG@10"] = _gain(places, len(evidence))
    sessions = list(dict.fromkeys(session[id_] for id_ in found))
    asked = wanted or list(dict.fromkeys(session[e] for e in evidence))
    places = [sessions.index(s) if s in sessions else DEPTH * 50 for s in asked]
    out["session R@5"] = sum(p < 5 for p in places) / len(places)
    out["session NDCG@10"] = _gain(places, len(asked))
    return out


def _gain(places: list[int], count: int) -> float:
    ideal = sum(1 / np.log2(place + 2) for place in range(min(10, count)))
    return float(sum(1 / np.log2(place + 2) for place in places if place < 10) / ideal)


def evaluated(world: World, corpus: Corpus, questions: list[Question], sums: dict, systems: Sequence[str]) -> None:
    prefix = f"{corpus.set}/{corpus.name}/"
    for question in questions:
        evidence = list(dict.fromkeys(prefix + e for e in question.evidence if prefix + e in world.session))
        wanted = [prefix + s for s in question.sessions]
        if not evidence and not wanted:
            continue
        for system in systems:
            for figure, value in figures(world.ask(system, question.text), evidence, world.session, wanted).items():
                sums[(corpus.set, "all", system)][figure].append(value)
                if question.category != "all":
                    sums[(corpus.set, question.category, system)][figure].append(value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--one-store", action="store_true")
    parser.add_argument("--cache", default="vectors.cache")
    parser.add_argument("--systems", default="all")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    systems = SYSTEMS if chosen.systems == "all" else chosen.systems.split(";")
    sums: dict = defaultdict(lambda: defaultdict(list))
    corpora = list(paraphrases(chosen.folder) if chosen.folder.suffix == ".tsv" else read(chosen.folder))
    with tempfile.TemporaryDirectory() as folder:
        if chosen.one_store:
            corpora = [c for c in corpora if c.set != "gigamemory"]
            world = World(Path(folder) / "all", corpora, chosen.cache)
            for corpus in corpora:
                drawn = random.Random(7).sample(corpus.questions, min(ONE_STORE_QUESTIONS, len(corpus.questions)))
                evaluated(world, corpus, drawn, sums, systems)
        else:
            for at, corpus in enumerate(corpora):
                print(f"{corpus.set}/{corpus.name}: {len(corpus.questions)} questions", file=sys.stderr)
                evaluated(
                    World(Path(folder) / str(at), [corpus], chosen.cache), corpus, corpus.questions, sums, systems
                )
    rows = [
        {"set": set_, "category": category, "system": system, "questions": max(map(len, values.values()))}
        | {f: round(100 * float(np.mean(values[f])), 1) if values[f] else "-" for f in FIGURES}
        for (set_, category, system), values in sorted(sums.items(), key=lambda i: (i[0][0], i[0][1] != "all", i[0]))
    ]
    macro = {}
    for system in systems:
        own = [r for r in rows if r["category"] == "all" and r["system"] == system and r["R@5"] != "-"]
        macro[system] = (
            round(float(np.mean([np.mean([r["R@5"], r["R@10"], r["NDCG@10"]]) for r in own])), 1) if own else 0
        )
    report("retrieval", rows, macro=macro, one_store=chosen.one_store)
    print("macro of R@5, R@10, NDCG@10:", macro)


if __name__ == "__main__":
    main()
