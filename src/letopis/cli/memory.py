"""`letopis memory`: the curated facts and their history."""

import click

from letopis.cli.app import App, Day, common
from letopis.model.facts import Fact
from letopis.model.journal import Batch, Event
from letopis.model.text import one_line, shorten


@click.group("memory")
@common
def command(app: App) -> None:
    """Show, trace, change and undo what is remembered."""


@command.command()
@click.option("--as-of", metavar="DATE", type=Day(), help="The facts as they were at the end of that day (YYYY-MM-DD).")
@common
def show(app: App, as_of: str | None) -> None:
    """The facts, with their ids."""
    memory = app.memory()
    view = memory.store.facts.view()
    facts = memory.store.facts.as_of(as_of) if as_of else list(view.facts)
    lines, section = [], None
    for fact in facts:
        if fact.section != section:
            section = fact.section
            lines += [f"\n{section}" if section else ""]
        lines.append(f"  {fact.id}  {fact.date or '          '}  {fact.text}")
    none = (
        f"Nothing was remembered on {as_of}." if as_of else "Nothing is remembered yet; `letopis remember TEXT` begins."
    )
    text = view.problem or "\n".join(lines).strip("\n") or none
    app.show({"status": "error" if view.problem else "ok", "facts": [fact_record(f) for f in facts],
              "problem": view.problem}, text)  # fmt: skip
    if view.problem:
        raise click.exceptions.Exit(1)


@command.command()
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many of the newest events.")
@common
def log(app: App, limit: int) -> None:
    """Every change of the facts, newest first."""
    events = [(batch, event) for batch in app.memory().store.facts.batches() for event in batch.events]
    shown = events[::-1][:limit]
    app.show(
        {"status": "ok", "total": len(events), "events": [event_record(b, e) for b, e in shown]},
        "\n".join(event_line(b, e) for b, e in shown) or "Nothing has changed yet.",
    )


@command.command()
@click.argument("fact")
@common
def why(app: App, fact: str) -> None:
    """Where a fact comes from: the exact messages, and every change of it."""
    from letopis.lifecycle.trace import trace

    found = trace(app.memory().store, fact)
    state = (
        ""
        if found.current
        else "  (archived: searched, not in prompts)"
        if found.archived
        else "  (no longer remembered)"
    )
    lines = [f"{found.fact.id}  {found.fact.text}{state}"]
    lines += [f"  {event_line(b, e)}" for b, e in found.events]
    for s in found.sources:
        lines.append(f"  source {s.source}  {s.timestamp[:16]}  {s.role}: {s.text}")
        lines += [f"    near {n['source']}  {n['role']}: {shorten(one_line(n['text']), 160)}" for n in s.around]
    lines += [f"  source {source} is not there any more" for source in found.missing]
    if not found.sources and not found.missing:
        lines.append("  no source: it was written into MEMORY.md by hand")
    record = {
        "status": "ok",
        "fact": fact_record(found.fact),
        "current": found.current,
        "archived": found.archived,
        "events": [event_record(b, e) for b, e in found.events],
        "sources": [s.record() for s in found.sources],
        "missing": list(found.missing),
    }
    app.show(record, "\n".join(lines))


@command.command()
@click.argument("fact", nargs=-1, required=True)
@common
def remove(app: App, fact: tuple[str, ...]) -> None:
    """Remove a fact, by its id or by words that only it has."""
    removed = app.memory().forget(" ".join(fact))
    record = {"status": "ok", "fact": removed.fact.id, "text": removed.fact.text, "event": removed.event}
    app.show(record, f"Forgotten: {removed.fact.text}\n`letopis memory undo {removed.event}` takes it back.")


@command.command()
@click.argument("event")
@common
def undo(app: App, event: str) -> None:
    """Take one change back, by the id that `memory log` shows."""
    from letopis.lifecycle.tidy import undo as take_back

    done = take_back(app.memory().store, event, "person")
    app.show({"status": "ok", "event": done.id, "op": done.op, "text": done.text}, f"Undone: {done.op} {done.text!r}")


@command.command()
@common
def edit(app: App) -> None:
    """Open MEMORY.md in your editor; what you change is kept, with its history."""
    memory = app.memory()
    memory.store.facts.bring_up_to_date()
    path = memory.store.workspace.memory_file
    if not path.exists():
        memory.store.facts.write_default()
    click.edit(filename=str(path))
    memory.store.facts.bring_up_to_date()
    count = len(memory.facts())
    app.show({"status": "ok", "facts": count}, f"{count} facts.")


def fact_record(fact: Fact) -> dict[str, object]:
    """A fact as JSON."""
    return {
        "id": fact.id,
        "text": fact.text,
        "section": fact.section,
        "date": fact.date,
        "sources": list(fact.sources),
    }


def event_record(batch: Batch, event: Event) -> dict[str, object]:
    """An event of the journal as JSON."""
    return {
        "event": event.id,
        "at": batch.at,
        "by": batch.by,
        "op": event.op,
        "fact": event.fact_id,
        "before": event.before.text if event.before else None,
        "after": event.after.text if event.after else None,
        "why": event.why,
        "undoes": event.undoes,
    }


def event_line(batch: Batch, event: Event) -> str:
    """An event of the journal on one line."""
    before = f" (was: {event.before.text})" if event.op == "replaced" and event.before else ""
    why = f" — {event.why}" if event.why else ""
    return f"{event.id}  {batch.at[:16]}  {batch.by:7}  {event.op:8}  {event.text}{before}{why}"
