"""The review queue in a terminal: question, draft and sources, and one key for each answer."""

import sys

import click

from letopis.cli.app import App, printable
from letopis.errors import InvalidInput
from letopis.experience.review import Reviewed
from letopis.memory import Memory
from letopis.model.cases import Suggested
from letopis.model.text import one_line, shorten

_KEYS = "[a]pprove  [e]dit in $EDITOR  [r]eject  [s]kip  [q]uit"


def walk(app: App, memory: Memory, suggestion: str | None, reviewer: str) -> None:
    """Show what waits, one after the other; where nobody can press keys it is only listed."""
    with memory.store.experience.reading() as bank:
        waiting = [one for one in bank.suggested.values() if one.waits or one.id == suggestion]
        waiting = [one for one in waiting if suggestion in (None, one.id)]
    if app.json or not sys.stdin.isatty():
        lines = [line_of(one) for one in waiting]
        record = {"status": "ok", "waiting": [one.record() for one in waiting]}
        app.show(record, "\n".join(lines) or "Nothing waits for a review.")
        return
    for at, one in enumerate(waiting, 1):
        click.echo(printable(f"\n{at} of {len(waiting)}\n{_told(memory, one)}"))
        if not _reviewed(app, memory, one, reviewer):
            break
    click.echo("Nothing waits for a review." if not waiting else "Done.")


def line_of(one: Suggested) -> str:
    """A suggestion on two lines."""
    what = "noticed in a chat" if one.proposed else f"confidence {one.confidence:.2f}"
    question, draft = shorten(one_line(one.question), 100), shorten(one_line(one.draft), 120)
    return f"{one.id}  {one.at[:10]}  {what}  {question}\n    → {draft}"


def _told(memory: Memory, one: Suggested) -> str:
    lines = [click.style(one.question, bold=True), f"Draft: {one.draft or '(none)'}"]
    if one.proposed:
        lines.append(f"The user said instead: {one.proposed}")
    with memory.store.experience.reading() as bank:
        cases = [bank.cases[id_] for id_ in one.cases if id_ in bank.cases]
    lines += [f"  from {case.id} ({case.confidence:.2f}): {shorten(one_line(case.question), 100)}" for case in cases]
    lines += [f"  source {one.source}"] if one.source else []
    return "\n".join(lines)


def _reviewed(app: App, memory: Memory, one: Suggested, reviewer: str) -> bool:
    """Ask for one review; False ends the walk."""
    while True:
        click.echo(_KEYS)
        key = click.getchar().casefold()
        if key in ("q", "й", "\x03", "\x04", ""):
            return False
        if key in ("s", "ы"):
            return True
        outcome = {
            "a": "approved",
            "ф": "approved",
            "e": "edited",
            "у": "edited",
            "r": "rejected",
            "к": "rejected",
        }.get(key)
        if outcome is None:
            continue
        right, note = "", ""
        if outcome == "edited":
            right = (click.edit(one.proposed or one.draft) or "").strip()
        elif outcome == "rejected":
            right = click.prompt("The right answer (empty: not known)", default="", show_default=False)
            note = click.prompt("Why (may be empty)", default="", show_default=False)
        if outcome == "edited" and not right:
            click.echo("nothing was changed")
            continue
        if outcome == "edited" and right == one.draft:
            outcome = "approved"
        try:
            show(app, memory.review(one.id, outcome, right, note=note, reviewer=reviewer))
        except InvalidInput as error:
            click.echo(f"not reviewed: {error}")
            continue
        return True


def show(app: App, made: Reviewed) -> None:
    """What came of a review."""
    record = {"status": "ok", "outcome": made.outcome, "repeated": made.repeated}
    record |= {
        "case": made.case.record() if made.case else None,
        "lesson": made.lesson.record() if made.lesson else None,
    }
    lines = [
        f"{made.outcome}: {made.case.id} {shorten(one_line(made.case.answer), 120)}" if made.case else made.outcome
    ]
    lines += [f"lesson: {shorten(one_line(made.lesson.when), 160)}"] if made.lesson else []
    lines += ["this mistake was corrected before and came back"] if made.repeated else []
    app.show(record, "\n".join(lines))
