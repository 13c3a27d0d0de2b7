"""`letopis sessions`."""

import click

from letopis.cli.app import App, common
from letopis.cli.memory import fact_record
from letopis.lifecycle.lookup import meant, record_of
from letopis.model.session import SessionLine


@click.group("sessions")
@common
def command(app: App) -> None:
    """List, read and delete conversations."""


@command.command("list")
@click.option("--key", help="Only this key.")
@click.option("--slug", help="Part of the slug.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many.")
@common
def list_(app: App, key: str | None, slug: str | None, limit: int) -> None:
    """The sessions there are, newest first."""
    found = app.memory().sessions(key=key, slug=slug)
    lines = [line_of(session) for session in found[:limit]]
    if len(found) > limit:
        lines.append(f"showing {limit} of {len(found)}")
    records = [{**s.record(), "state": s.state} for s in found[:limit]]
    record = {"status": "ok" if found else "empty", "total": len(found), "sessions": records}
    app.show(record, "\n".join(lines) or "There are no sessions yet.")


@command.command()
@click.argument("session_id", required=False)
@click.option("--key", help="Instead of an id: the newest session under this key.")
@click.option(
    "--from", "start", default=1, show_default=True, type=click.IntRange(1), help="Number of the first message."
)
@click.option("--limit", default=0, type=click.IntRange(0), help="How many messages; 0: all.")
@common
def show(app: App, session_id: str | None, key: str | None, start: int, limit: int) -> None:
    """A session, word for word."""
    if not session_id and not key:
        raise click.UsageError("name a session, or a key with --key; `letopis sessions list` shows them")
    line, transcript = app.memory().history(session_id=session_id, key=key)
    messages = [m for m in transcript.messages if m.n >= start]
    messages = messages[:limit] if limit else messages
    records = [record_of(m, transcript) for m in messages]
    lines = [line_of(line), f"  transcript {line.transcript_path}"]
    lines += [f"  note       {line.memory_path}"] if line.memory_path else []
    for item in records:
        lines.append(f"\n{click.style('#' + str(item['n']), bold=True)} {item['role']} {item['timestamp'][:19]}")
        lines.append(item["text"])
        lines += [f"  → {call['name']}({call['arguments']})" for call in item.get("tool_calls", [])]
    if transcript.bad:
        lines.append(f"\n{len(transcript.bad)} damaged lines were left out; `letopis doctor` names them")
    full = {"status": "ok", "session": {**line.record(), "state": line.state}, "messages": records}
    app.show(full | {"damaged_lines": len(transcript.bad)}, "\n".join(lines))


@command.command()
@click.argument("session_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
def delete(app: App, session_id: str, yes: bool) -> None:
    """Delete a session for good: its transcript, notes and index line."""
    from letopis.lifecycle.trace import resting_on

    memory = app.memory()
    line = meant(memory.store, session_id, None, None)
    session_id = line.session_id
    resting = resting_on(memory.store, session_id)
    goes = list(dict.fromkeys([line.transcript_path, *memory.store.deletions.places_of(line.session_id)]))
    if app.json and not yes:
        raise click.UsageError("with --json nothing is asked: add --yes to delete")
    if not yes:
        click.echo(f"{line_of(line)}\nThis goes for good:", err=True)
        for name in (*goes, "its line in sessions/_sessions.jsonl"):
            click.echo(f"  {name}", err=True)
        for fact in resting:
            click.echo(f"The fact {fact.id} rests on it and stays: {fact.text}", err=True)
        click.confirm("Delete it?", abort=True, err=True)
    _, paths = memory.store.delete_session(session_id)
    facts = [fact_record(fact) for fact in resting]
    record = {"status": "ok", "session_id": session_id, "removed": [*paths, "index line"]}
    app.show({**record, "facts_resting_on_it": facts}, "\n".join(["Deleted:", *(f"  {path}" for path in paths)]))


def line_of(line: SessionLine) -> str:
    """A session on one line."""
    count = f"{line.message_count} message{'' if line.message_count == 1 else 's'}"
    summary = f"  {line.summary_status}" if line.state == "archived" else ""
    title = f"  {line.slug}" if line.slug else ""
    return f"{line.session_id}  {line.updated_at[:16]}  {line.state:8}  {line.key}  {count}{title}{summary}"
