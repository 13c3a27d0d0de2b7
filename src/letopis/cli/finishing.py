"""Finishes the closings in the queue, in sight of the person."""

from typing import TYPE_CHECKING

import click

from letopis.cli.app import App
from letopis.errors import LetopisError
from letopis.lifecycle.close import Archived, Waiting, archive
from letopis.lifecycle.housekeep import Worked

if TYPE_CHECKING:
    from letopis.memory import Memory

_WAIT = 10.0


def finish(app: App, memory: "Memory") -> None:
    """Archive every closed session, with progress; Ctrl-C leaves the rest in the queue."""
    waiting = memory.store.sessions.closing()
    try:
        for at, session_id in enumerate(waiting, 1):
            lead = f"closing {at} of {len(waiting)}: "

            def report(step: str, lead: str = lead) -> None:
                if not app.json:
                    click.echo(f"{lead}{step} …", err=True)

            try:
                show_outcome(app, archive(memory.store, memory.models, session_id, report, _WAIT))
            except LetopisError as error:
                show_outcome(app, Waiting(session_id, str(error)))
    except KeyboardInterrupt:
        left = len(memory.store.sessions.closing())
        app.show(
            {"event": "queued", "waiting": left}, f"\n{left} closings stay in the queue; `letopis worker` goes on."
        )


def show_outcome(app: App, outcome: Archived | Waiting | Worked | LetopisError, in_full: bool = False) -> None:
    """What came of one piece of background work; what went well inside a conversation only `in_full`."""
    match outcome:
        case Archived(line, problems):
            record = {"event": "archived", "status": "ok", **line.record(), "problems": list(problems)}
            text = [f"Archived {line.session_id}: {line.transcript_path}"]
            text += [f"  note: {line.memory_path}"] if line.memory_path else []
            text += [f"  {problem}" for problem in problems]
            app.show(record, "\n".join(text))
        case Waiting(session_id, reason):
            record = {"event": "waiting", "status": "queued", "session_id": session_id, "reason": reason}
            app.show(record, f"{session_id} stays in the queue: {reason}")
        case Worked(session_id, done, problems):
            record = {"event": "worked", "status": "ok", "session_id": session_id, "done": list(done)}
            lines = [f"{session_id}: {', '.join(done)}"] if done and in_full else []
            told = "\n".join([*lines, *(f"{session_id}: {problem}" for problem in problems)])
            if app.json or told:
                app.show({**record, "problems": list(problems)}, told)
        case LetopisError():
            app.show({"event": "error", "status": "error", "error": str(outcome)}, f"error: {outcome}")
