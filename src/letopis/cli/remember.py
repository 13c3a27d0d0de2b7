"""`letopis remember`."""

import click

from letopis.cli.app import App, common


@click.command("remember")
@click.argument("text", nargs=-1, required=True)
@click.option("--section", default="", help="The heading of MEMORY.md to put it under.")
@common
def command(app: App, text: tuple[str, ...], section: str) -> None:
    """Keep a fact: it is in every prompt from now on."""
    from letopis.lifecycle.remember import Kept, Known

    with app.memory() as memory:
        outcome = memory.remember(" ".join(text), section=section)
    match outcome:
        case Known(fact):
            app.show({"status": "known", "fact": fact.id, "text": fact.text}, f"Known already: {fact.text}")
        case Kept(fact, before, event):
            record = {"status": "ok", "fact": fact.id, "text": fact.text, "event": event}
            record |= {"instead_of": before.text} if before else {}
            instead = f"\nInstead of: {before.text}" if before else ""
            app.show(record, f"Remembered ({fact.id}): {fact.text}{instead}")
