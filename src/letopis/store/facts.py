"""`MEMORY.md` and the journal of its changes, kept in step whoever writes.

A change is first a durable line of the journal, then the file. What a person does to the file
meanwhile is merged in, never overwritten: the file replaced is linked into the backups first
and compared afterwards.
"""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import FactRefused, OutsideWorkspace, Unreadable, WriteFailed
from letopis.model import facts, journal, jsonl, names
from letopis.model.facts import Document, Fact
from letopis.model.journal import RAW, Batch, Event
from letopis.settings import Clock
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.workspace import Workspace

LOCK = "facts"
_BACKUPS_KEPT = 50
_TRIES = 10
_SETTLE = 0.05


@dataclass(frozen=True, slots=True)
class View:
    """The facts as they are now. `problem` says why they cannot be read, if they cannot."""

    document: Document
    problem: str = ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts in order."""
        return self.document.facts


class Facts:
    """The curated facts of one workspace."""

    def __init__(self, workspace: Workspace, locks: Locks, clock: Clock) -> None:
        self._workspace, self._locks, self._clock = workspace, locks, clock
        self._journal: tuple[int, int, tuple[Batch, ...]] = (-1, -1, ())
        self._seen: tuple[tuple[object, ...], View] | None = None

    def view(self) -> View:
        """The facts, a person's latest edits included; nothing is written. Read again when a file has changed."""
        now = self._stamp()
        if self._seen is None or self._seen[0] != now:
            try:
                seen = View(self._merged(self._found()).document)
            except (Unreadable, OutsideWorkspace) as error:
                return View(facts.parse(""), str(error))  # not kept: it may pass
            self._seen = now, seen
        return self._seen[1]

    def _stamp(self) -> tuple[object, ...]:
        """What the facts are made of: the file, the version kept, the journal, and the day."""
        found: list[object] = [self._clock.now().date()]
        for path in (self._workspace.memory_file, self._kept_path, self._workspace.fact_journal):
            try:
                stat = os.stat(path)
                found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
            except OSError:
                found.append(None)
        return tuple(found)

    def batches(self) -> tuple[Batch, ...]:
        """The whole journal, oldest first."""
        path = self._workspace.fact_journal
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            return ()
        if (stat.st_size, stat.st_mtime_ns) != self._journal[:2]:
            lines = jsonl.lines(files.read(path) or b"")
            parsed = (journal.parse_batch(line.record) for line in lines if isinstance(line, jsonl.GoodLine))
            self._journal = (stat.st_size, stat.st_mtime_ns, tuple(b for b in parsed if b is not None))
        return self._journal[2]

    def as_of(self, moment: str) -> list[Fact]:
        """The facts as they were at the end of a day, or at an ISO 8601 moment."""
        return list(journal.replay(b for b in self.batches() if b.at[: len(moment)] <= moment).values())

    def spans(self, session_id: str) -> list[tuple[int, int]]:
        """The ranges of a session's messages from which facts were taken already."""
        return [b.span for b in self.batches() if b.session_id == session_id and b.span is not None]

    def raw_spans(self, session_id: str) -> list[tuple[int, int]]:
        """The ranges that were only archived raw and not taken since."""
        own = [b for b in self.batches() if b.session_id == session_id and b.span is not None]
        done = {b.span for b in own if b.by != RAW}
        return [b.span for b in own if b.by == RAW and b.span is not None and b.span not in done]

    def change(
        self,
        by: str,
        decide: Callable[[Document], Sequence[Event]],
        session_id: str | None = None,
        span: tuple[int, int] | None = None,
    ) -> Batch:
        """Apply what `decide` makes of the facts as they stand; it is called under the lock.

        A range of messages that was taken already changes nothing.
        """
        with self._locks.hold(LOCK):
            taken = self._taken(by, session_id, span) if span is not None else None
            if taken is not None:
                self._bring_up_to_date()
                return taken
            document = self._bring_up_to_date()
            batch = self._batch(by, tuple(decide(document)), session_id, span)
            if batch.events or span is not None:
                files.append(self._workspace.fact_journal, jsonl.encode(batch.record()))
                try:
                    self._bring_up_to_date()
                except WriteFailed as error:
                    raise WriteFailed(
                        f"the change is kept in the journal, but not yet in MEMORY.md: {error}. It is finished "
                        "when the workspace is next opened; do not repeat it"
                    ) from error
            return batch

    def _taken(self, by: str, session_id: str | None, span: tuple[int, int]) -> Batch | None:
        """The batch that took this range, or a part of it, before; what was only archived raw may be taken."""
        for batch in reversed(self.batches()):
            if batch.session_id == session_id and batch.span is not None and (batch.by != RAW or by == RAW):
                a, b = batch.span
                if a <= span[1] and span[0] <= b:
                    return batch
        return None

    def bring_up_to_date(self) -> None:
        """Finish what a crash left undone, and journal what a person changed by hand."""
        with self._locks.hold(LOCK):
            self._bring_up_to_date()

    def write_default(self) -> None:
        """Make an empty MEMORY.md for a person to write into."""
        files.create(self._workspace.memory_file, facts.DEFAULT_TEXT.encode())

    def undo(self, event_id: str, by: str) -> Event:
        """Take one change back. Raises FactRefused where the fact has changed since."""
        event = self.event(event_id)
        self._refuse_if_changed_since(event)
        undone: list[Event] = []

        def decide(document: Document) -> Sequence[Event]:
            bullet = document.by_id().get(event.fact_id)
            now = bullet.fact if bullet else None
            if (now and (now.text, now.section)) != (event.after and (event.after.text, event.after.section)):
                raise FactRefused(
                    f"fact {event.fact_id} has changed since event {event.id}; `letopis memory why "
                    f"{event.fact_id}` shows the later events, undo them first"
                )
            undone.append(journal.inverse(event, new_event_id(), f"undo of {event.id}"))
            return undone

        self.change(by, decide)
        return undone[0]

    def _refuse_if_changed_since(self, event: Event) -> None:
        """Only the newest change of a fact can be undone; changes that were undone do not count."""
        own = [e for batch in self.batches() for e in batch.events if e.fact_id == event.fact_id]
        standing: list[Event] = []
        for later in own[[e.id for e in own].index(event.id) + 1 :]:
            if any(e.id == later.undoes for e in standing):
                standing = [e for e in standing if e.id != later.undoes]
            else:
                standing.append(later)
        if standing:
            raise FactRefused(
                f"fact {event.fact_id} has changed since event {event.id}, last by event {standing[-1].id}; "
                "undo the later changes first"
            )

    def event(self, event_id: str) -> Event:
        """One event of the journal. Raises FactRefused where there is none."""
        for batch in self.batches():
            for event in batch.events:
                if event.id == event_id:
                    return event
        raise FactRefused(f"there is no event {event_id!r}; `letopis memory log` lists them")

    # --- the file ---------------------------------------------------------------------------

    def _bring_up_to_date(self) -> Document:
        """Merge the file with the journal and write what differs; returns the facts as they stand."""
        for _ in range(_TRIES):
            data, found = self._settled()
            merged = self._merged(found)
            if merged.by_hand:
                line = jsonl.encode(self._batch("person", merged.by_hand).record())
                files.append(self._workspace.fact_journal, line)
            telling = next((b for b in reversed(self.batches()) if b.events), None)
            if telling is None or (data is None and not merged.document.bullets):
                return merged.document
            document = facts.marked(merged.document, telling.id)
            wanted = document.text().encode("utf-8", "replace")
            if data == wanted or self._write(data, wanted):
                return document
        raise WriteFailed(f"{self._workspace.memory_file} keeps changing; save it in the editor and try again")

    def _write(self, replaced: bytes | None, wanted: bytes) -> bool:
        """Put the new file in place; False where a person changed the old one meanwhile."""
        path, backup = self._workspace.memory_file, self._backup(replaced)
        files.replace(self._kept_path, wanted)
        if replaced is None:
            return files.create(path, wanted)
        files.keep_copy(path, backup)
        if not os.path.samestat(os.stat(path), os.stat(backup)) and path.read_bytes() != replaced:
            return False
        files.replace(path, wanted)
        slipped_in = backup.read_bytes()
        if slipped_in != replaced:
            files.replace(path, slipped_in)
            return False
        self._prune()
        return True

    def _merged(self, document: Document) -> journal.Merged:
        today = self._clock.now().date().isoformat()
        return journal.reconciled(document, self.batches(), new_event_id, today)

    def _settled(self) -> tuple[bytes | None, Document]:
        """The file found; one that looks cut is given a moment to be saved whole."""
        kept = self._kept()
        for pause in (*[_SETTLE] * 4, 0.0):
            data = self._bytes()
            document = self._decoded(data)
            if kept is None or document is None or not facts.looks_cut(document, kept):
                break
            time.sleep(pause)
        return data, _whole(document, kept)

    def _found(self) -> Document:
        return _whole(self._decoded(self._bytes()), self._kept())

    def _bytes(self) -> bytes | None:
        return files.read(self._workspace.contained(self._workspace.memory_file))

    def _decoded(self, data: bytes | None) -> Document | None:
        if data is None:
            return None
        try:
            return facts.parse(data.decode())
        except UnicodeDecodeError as error:
            raise Unreadable(
                f"{self._workspace.memory_file} is not UTF-8 at byte {error.start}; nothing was changed. Save it "
                "as UTF-8, or run `letopis doctor --repair`, which keeps the bytes and mends the file"
            ) from None

    def _kept(self) -> Document | None:
        data = files.read(self._kept_path)
        return facts.parse(data.decode("utf-8", "replace")) if data is not None else None

    @property
    def _kept_path(self) -> Path:
        return self._workspace.internal / "memory-kept.md"

    def _backup(self, data: bytes | None) -> Path:
        digest = hashlib.sha256(data or b"").hexdigest()[:12]
        stamp = self._clock.now().strftime("%Y%m%d-%H%M%S-%f")
        return self._workspace.backups / "memory" / f"MEMORY-{stamp}-{digest}.md"

    def _prune(self) -> None:
        for path in sorted((self._workspace.backups / "memory").glob("MEMORY-*.md"))[:-_BACKUPS_KEPT]:
            files.remove(path)

    def _batch(
        self,
        by: str,
        events: Sequence[Event],
        session_id: str | None = None,
        span: tuple[int, int] | None = None,
    ) -> Batch:
        at = names.stamp(self._clock.now())
        return Batch(os.urandom(4).hex(), at, by, tuple(events), session_id, span)


def _whole(document: Document | None, kept: Document | None) -> Document:
    """The document of the file; what is missing or was cut comes from the version that was kept."""
    if document is None:
        return kept or facts.parse(facts.DEFAULT_TEXT)
    if kept is not None and facts.looks_cut(document, kept):
        return facts.mended(document, kept)
    return document


def new_event_id() -> str:
    """Eight hex digits."""
    return os.urandom(4).hex()
