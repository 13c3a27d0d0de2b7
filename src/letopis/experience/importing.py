"""Brings questions and answers of a file into the bank, and tells what was known and what contradicts."""

from collections.abc import Callable
from dataclasses import dataclass, field

from letopis.errors import InvalidInput
from letopis.experience.add import Added, Merged, add
from letopis.experience.desk import Desk
from letopis.model import pairs
from letopis.model.cases import Case


@dataclass(slots=True)
class Report:
    """What became of the pairs of a file. `conflicts`: a new case and those that answer its question otherwise."""

    added: int = 0
    merged: int = 0
    known: int = 0
    conflicts: list[tuple[Case, tuple[Case, ...]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def bring_in(
    desk: Desk,
    name: str,
    text: str,
    collection: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Add every pair of a file; a second import of the same file adds nothing."""
    found, problems = pairs.read(name, text)
    report = Report(problems=problems)
    for done, pair in enumerate(found, 1):
        for question in (pair.question, *pair.wordings):
            try:
                own = collection or pair.collection or None
                _count(report, add(desk, question, pair.answer, own, "import", name, pair.valid_until, embed=False))
            except InvalidInput as error:
                report.problems.append(f"line {pair.line}: {error}")
        progress(done, len(found))
    return report


def _count(report: Report, outcome: Added | Merged) -> None:
    match outcome:
        case Added(case, conflicts):
            report.added += 1
            report.conflicts += [(case, conflicts)] if conflicts else []
        case Merged(_, True):
            report.merged += 1
        case Merged():
            report.known += 1
