"""`letopis doctor`: looks at every file of ours; with `repair`, mends what can be mended.

Before anything is rewritten its bytes are kept in the quarantine. An archive is never changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from letopis.checks import mending
from letopis.errors import LetopisError, OutsideWorkspace, StoreError, Unreadable
from letopis.lifecycle.close import drain
from letopis.llm.connect import Models
from letopis.model import jsonl, summary
from letopis.model.session import SessionLine
from letopis.model.transcript import Transcript
from letopis.store import Store, files

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: where, what, and what `--repair` does; `mend` is None where a person must."""

    where: str
    what: str
    remedy: str
    mend: Callable[[], None] | None = None


def examine(store: Store, models: Models) -> list[Finding]:
    """Everything that is wrong, in the order in which it is best mended."""
    found: list[Finding] = []
    for check in (
        _transcripts,
        _twice,
        _unfinished,
        _journals,
        _index,
        _links,
        _memory,
        _notes,
        _experience,
        _temporaries,
    ):
        try:
            found.extend(check(store, models))
        except LetopisError as error:
            found.append(Finding(store.workspace.root.name, str(error), "mend what it names, then look again"))
    return found


def repair(store: Store, models: Models) -> tuple[list[tuple[Finding, str]], list[Finding]]:
    """Mend what can be mended: each finding with what came of it, and the findings that are left.

    One failure stops no other; what a repair brings to light is mended too.
    """
    outcomes: list[tuple[Finding, str]] = []
    left = examine(store, models)
    for _ in range(_ROUNDS):
        mendable = [finding for finding in left if finding.mend is not None]
        if not mendable:
            break
        outcomes += [(finding, _mended(finding)) for finding in mendable]
        left = examine(store, models)
    return outcomes, left


def _mended(finding: Finding) -> str:
    try:
        if finding.mend is not None:
            finding.mend()
    except (LetopisError, OSError) as error:
        return f"not mended: {error}"
    return "mended"


def _transcripts(store: Store, models: Models) -> Iterator[Finding]:
    """Damaged lines and lost headers, in live and closing files; archives are only reported."""
    for path in [*store.sessions.open_files(), *sorted(store.workspace.archive.glob("*.jsonl"))]:
        where = store.workspace.relative(path)
        transcript = Transcript().feed(files.read(path) or b"")
        archived = path.parent == store.workspace.archive
        if transcript.bad:
            what = f"{len(transcript.bad)} damaged lines, the first is line {transcript.bad[0].number}"
            if archived:
                yield Finding(where, what, "the other lines are read; an archive is never changed")
            else:
                yield Finding(where, what, "moves them to the quarantine", mending.without_bad_lines(store, path))
        if transcript.header is None:
            remedy = "gives the file a header again"
            mend = None if archived else mending.with_header(store, path)
            yield Finding(where, "its header line is damaged or missing", remedy, mend)
        if archived and transcript.archive is None:
            yield Finding(where, "it lacks the header of an archive", "restore the file from a backup")


def _twice(store: Store, models: Models) -> Iterator[Finding]:
    """Two files that bear one session: somebody copied one."""
    seen: dict[str, str] = {}
    for path in [*store.sessions.open_files(), *sorted(store.workspace.archive.glob("*.jsonl"))]:
        header = Transcript().feed(files.read(path) or b"").header
        where = store.workspace.relative(path)
        if header is None:
            continue
        if header.session_id in seen:
            what = f"it bears the same session as {seen[header.session_id]}"
            yield Finding(where, what, "keep one of the two and move the other out of the workspace")
        seen.setdefault(header.session_id, where)


def _unfinished(store: Store, models: Models) -> Iterator[Finding]:
    """Sessions that were closed and not archived."""
    for path in store.sessions.open_files():
        transcript = Transcript().feed(files.read(path) or b"")
        if transcript.ended_at is None or transcript.header is None:
            continue

        def mend(path: Path = path) -> None:
            store.recover()
            waiting = [o for o in drain(store, models, lambda step: None, wait=5.0) if hasattr(o, "reason")]
            if waiting:
                raise StoreError(waiting[0].reason)

        where = store.workspace.relative(path)
        yield Finding(where, "the session is closed and not archived yet", "finishes it", mend)


def _journals(store: Store, models: Models) -> Iterator[Finding]:
    for path in (store.workspace.fact_journal, store.workspace.deletions):
        bad = [line for line in jsonl.lines(files.read(path) or b"") if isinstance(line, jsonl.BadLine)]
        if bad:
            what = f"{len(bad)} damaged lines, the first is line {bad[0].number}"
            where = store.workspace.relative(path)
            yield Finding(where, what, "moves them to the quarantine", mending.without_bad_lines(store, path))
    if not store.workspace.fact_journal.exists() and store.facts.view().document.marker is not None:
        what = "the journal of the facts is gone; their history and undo are lost"
        remedy = "begins a new journal with the facts as they stand; restore the file to have the old one back"
        yield Finding(
            store.workspace.relative(store.workspace.fact_journal), what, remedy, store.facts.bring_up_to_date
        )


def _index(store: Store, models: Models) -> Iterator[Finding]:
    """The session index against the archives."""
    path = store.workspace.session_index
    where = store.workspace.relative(path)
    bad = [line for line in jsonl.lines(files.read(path) or b"") if isinstance(line, jsonl.BadLine)]
    rebuild = mending.rebuilt_index(store)
    if bad:
        yield Finding(where, f"{len(bad)} damaged lines", "makes it anew from the archives", rebuild)
    known = set(store.index.indexed())
    for archive in store.index.unindexed():
        line = store.index.from_archive(archive)
        if line is None or line.session_id in known:
            continue
        yield Finding(where, f"no line for {archive.name}", "adds the line from the archive's header", rebuild)
    for line in store.index.lines().values():
        if not _exists(store, line.transcript_path):
            what = f"the transcript of session {line.session_id} is missing: {line.transcript_path}"
            yield Finding(where, what, "drops the line; restore the file from a backup to have it back", rebuild)


def _links(store: Store, models: Models) -> Iterator[Finding]:
    """Sessions and their notes must point at each other."""
    lines = store.index.lines()
    for line in lines.values():
        if line.memory_path and not _exists(store, line.memory_path):
            what = f"the note of session {line.session_id} is missing: {line.memory_path}"
            yield Finding(store.workspace.relative(store.workspace.session_index), what,
                          "notes that there is none", _without_note(store, line))  # fmt: skip
    for path in sorted(store.workspace.memory.glob("*.md")):
        if not summary.is_session_note(path.name):
            continue
        fields = summary.header_fields((files.read(path) or b"").decode("utf-8", "replace"))
        target = fields.get("Transcript", "")
        if target and not _exists(store, target) and fields.get("Session ID") not in store.sessions.closing():
            what = f"it points at a transcript that is not there: {target}"
            yield Finding(store.workspace.relative(path), what, "restore the transcript, or delete the note")


def _without_note(store: Store, line: SessionLine) -> Callable[[], None]:
    def mend() -> None:
        store.index.put(replace(line, memory_path=None, summary_status="skipped"))

    return mend


def _memory(store: Store, models: Models) -> Iterator[Finding]:
    view = store.facts.view()
    if view.problem:
        remedy = "keeps the bytes in the quarantine and decodes the file anew"
        yield Finding("memory/MEMORY.md", view.problem, remedy, mending.readable_again(store))
    gone = store.deletions.ids()
    lines = {line.session_id: line.message_count for line in store.sessions.all()}
    for fact in view.facts:
        for source in fact.sources:
            session_id, _, n = source.partition("#")
            if session_id not in gone and int(n) > lines.get(session_id, 0):
                what = f"the source of fact {fact.id} is not there: {source}"
                yield Finding(
                    "memory/MEMORY.md", what, "the fact stays; restore the transcript to see its source again"
                )


def _notes(store: Store, models: Models) -> Iterator[Finding]:
    """Notes that search has to leave out."""
    for stamp in store.scanning.scan(store.settings.vector_memory.max_file_bytes, {}).changed:
        if stamp.origin != "note" or stamp.name == "memory/MEMORY.md":
            continue
        problem = stamp.problem
        try:
            if not problem:
                store.scanning.note(stamp.name)
        except Unreadable as error:
            problem = str(error)
        if problem:
            yield Finding(stamp.name, problem, "mend the file by hand; search leaves it out")


def _experience(store: Store, models: Models) -> Iterator[Finding]:
    for name, numbers in store.experience.damaged():
        shown = ", ".join(str(n) for n in numbers[:10]) + (" …" if len(numbers) > 10 else "")
        what = f"{len(numbers)} lines are damaged or of no kind that is known (line {shown}); the others are read"
        yield Finding(name, what, "look at the lines; nothing else depends on them")


def _temporaries(store: Store, models: Models) -> Iterator[Finding]:
    place = store.workspace
    for folder in (place.memory, place.live, place.closing, place.archive, place.internal):
        for path in files.stale_temporaries(folder):
            what = "a file that a program which has died was writing"
            yield Finding(place.relative(path), what, "moves it to the quarantine", mending.set_aside(store, path))


def _exists(store: Store, relative: str) -> bool:
    try:
        return store.workspace.inside(relative).is_file()
    except OutsideWorkspace:
        return False
