"""The desk: the bank of a workspace with what is needed to find a case, kept between questions."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np

from letopis.errors import ModelError, SearchError
from letopis.experience.calibration import learnt
from letopis.experience.matcher import Floats, Match, Matcher
from letopis.experience.suggest import FITS, Suggestion, judged
from letopis.index import Index
from letopis.llm import Reply
from letopis.model import names, secrets
from letopis.model.bank import Bank
from letopis.short_term.topics import PLAIN
from letopis.store import Store
from letopis.store.experience import slug_of

GENERAL = "general"


class Desk:
    """Questions in, suggestions out; nothing is written here but what `keep` writes."""

    def __init__(self, store: Store, index: Index) -> None:
        self.store, self.index = store, index
        self._bank: Bank | None = None
        self._matcher = Matcher(None)
        self._calibration: tuple[int, tuple[float, float]] = (0, (0.0, 1.0))

    def suggest(self, question: str, collection: str | None = None) -> Suggestion:
        """The answer that experience suggests to a question, from one collection or from all."""
        vector = self.vector(question)
        with self.store.experience.reading() as bank:
            matches = self.nearest(bank, question, vector, collection)
            answer_at = self.store.settings.experience.answer_at
            today = self.store.clock.now().date().isoformat()
            return judged(bank, question, matches, self._learnt(bank), answer_at, today)

    def nearest(self, bank: Bank, question: str, vector: Floats | None, collection: str | None = None) -> list[Match]:
        """The standing cases, nearest first; warnings stand among them. The bank must be held."""
        self._matched(bank)
        today = self.store.clock.now().date().isoformat()
        by_name = (stem for stem, name in bank.names.items() if name == collection)
        wanted = next(by_name, collection if collection in bank.names else slug_of(collection)) if collection else None

        def allowed(case: str) -> bool:
            own = bank.cases[case]
            return own.stands(today) and wanted in (None, own.collection)

        return self._matcher.nearest(question, vector, allowed)

    def keep(self, suggestion: Suggestion, source: str = "", proposed: str = "") -> Suggestion:
        """Note a suggestion, so that a person can review it and the figures count it."""
        id_ = new_id("s")
        question = secrets.redact(suggestion.question)
        record: dict[str, Any] = {"_type": "suggested", "id": id_, "question": question}
        record |= {"draft": suggestion.draft, "cases": [case.id for case, _ in suggestion.cases]}
        record |= {"confidence": round(suggestion.confidence, 4), "verdict": suggestion.verdict}
        record["signals"] = {name: round(value, 4) for name, value in suggestion.signals.items()}
        record |= {name: value for name, value in (("source", source), ("proposed", proposed)) if value}
        collection = suggestion.collection or GENERAL
        self.store.experience.append(collection, [record])
        return replace(suggestion, id=id_, collection=collection)

    def note_usage(self, purpose: str, model: str, reply: Reply) -> None:
        """Add the tokens of a reply to the workspace's usage."""
        now = names.stamp(self.store.clock.now())
        self.store.usage.add(now, model, purpose, reply.prompt_tokens, reply.completion_tokens)

    def vector(self, text: str) -> Floats | None:
        """The vector of a text; None where there is none to be had."""
        try:
            found = self.index.embedded([text])
        except (ModelError, SearchError):
            return None
        return found.get(text)

    def collection_for(self, bank: Bank, question: str, vector: Floats | None) -> str:
        """The collection of the nearest case; a general one where none is near."""
        for match in self.nearest(bank, question, vector):
            if match.score >= FITS and match.case in bank.cases:
                return bank.cases[match.case].collection
        return GENERAL

    def _matched(self, bank: Bank) -> None:
        if bank is not self._bank:
            self._bank, self._matcher = bank, Matcher(self._plain if self.index.has_vectors else None)
        self._matcher.update(bank, self._known)

    def _known(self, texts: Sequence[str]) -> Mapping[str, Floats]:
        try:
            return self.index.embedded(texts, make=False)
        except SearchError:
            return {}

    def _plain(self) -> Floats:
        try:
            return np.concatenate([self.index.plain(texts) for texts in PLAIN])
        except (ModelError, SearchError):
            return np.zeros((0, 0), np.float32)

    def _learnt(self, bank: Bank) -> tuple[float, float]:
        reviewed = [one for one in bank.suggested.values() if one.outcome]
        if self._calibration[0] != len(reviewed):
            self._calibration = len(reviewed), learnt(reviewed)
        return self._calibration[1]


def desk_of(store: Store, index: Index) -> Desk:
    """The desk of a workspace, made once for each open index."""
    desk = index.companion
    if not isinstance(desk, Desk):
        desk = index.companion = Desk(store, index)
    return desk


def prompt(name: str) -> str:
    """The text of a prompt of this package."""
    return resources.files("letopis.experience").joinpath("prompts", f"{name}.md").read_text("utf-8")


def new_id(letter: str) -> str:
    """An id of its kind: a letter and twelve hex digits."""
    return letter + os.urandom(6).hex()
