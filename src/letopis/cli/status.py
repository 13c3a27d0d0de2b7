"""`letopis status`."""

from collections import Counter

import click

from letopis.cli.app import App, common


@click.command("status")
@common
def command(app: App) -> None:
    """What is in the workspace, what waits, and the tokens that each model has used."""
    memory = app.memory()
    store = memory.store
    sessions = store.sessions.all()
    states = Counter(line.state for line in sessions)
    view = store.facts.view()
    usage = [
        {"model": model, "purpose": purpose, "calls": u.calls, "prompt_tokens": u.prompt_tokens,
         "completion_tokens": u.completion_tokens}
        for (model, purpose), u in store.usage.totals().items()
    ]  # fmt: skip
    due = memory.due()
    unseen = memory.unseen()
    with store.experience.reading() as bank:
        experience = {"cases": len(bank.cases), "lessons": len(bank.lessons), "waiting": len(bank.waiting())}
    record = {
        "status": "ok",
        "workspace": str(store.workspace.root),
        "model": store.settings.model.name or None,
        "background_model": store.settings.model.background or store.settings.model.name or None,
        "facts": len(view.facts),
        "memory_problem": view.problem,
        "sessions": {name: states[name] for name in ("live", "closing", "archived")},
        "messages": sum(line.message_count for line in sessions),
        "queue": store.sessions.closing(),
        "due": due,
        "unseen": unseen,
        "experience": experience,
        "usage": usage,
    }
    model = record["model"] or "none configured: facts, search and transcripts work without one"
    lines = [
        f"workspace  {record['workspace']}",
        f"model      {model}",
        f"facts      {view.problem or len(view.facts)}",
        f"sessions   {states['live']} live, {states['closing']} closing, {states['archived']} archived; "
        f"{record['messages']} messages",
    ]
    lines += (
        [f"unseen     {unseen} archived sessions whose facts no model took; `letopis consolidate`"] if unseen else []
    )
    if experience["cases"] or experience["waiting"]:
        waiting = f"; {experience['waiting']} wait: `letopis experience review`" if experience["waiting"] else ""
        lines.append(f"experience {experience['cases']} cases, {experience['lessons']} lessons{waiting}")
    lines += [f"due        {name or 'MEMORY.md'}: {', '.join(what)}" for name, what in due.items()]
    lines += [
        f"tokens     {row['model']}, {row['purpose']}: {row['calls']} calls, {row['prompt_tokens']} in, "
        f"{row['completion_tokens']} out"
        for row in usage
    ]
    app.show(record, "\n".join(lines))
