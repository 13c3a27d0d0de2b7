"""`letopis research`."""

import click

from letopis.cli.app import App, common
from letopis.model.evidence import Pack
from letopis.model.text import one_line, shorten


@click.command("research")
@click.argument("question", nargs=-1, required=True)
@click.option("--session", "session_id", help="Look at the anchors and the history of this session too.")
@common
def command(app: App, question: tuple[str, ...], session_id: str | None) -> None:
    """Gather evidence: quotes with their sources, what is missing, and what contradicts."""
    pack = app.memory().research(" ".join(question), session_id=session_id)
    app.show(pack.record(), "\n".join(_lines(pack)))


def _lines(pack: Pack) -> list[str]:
    lines = [f"Asked in {len(pack.ways)} ways: " + "; ".join(shorten(way.text, 60) for way in pack.ways)]
    for quote in pack.quotes:
        where = " · ".join(filter(None, [quote.source, quote.date, quote.kind]))
        lines += [click.style(where, dim=True), f"  {shorten(one_line(quote.text), 400)}"]
    if not pack.quotes:
        lines.append("Nothing found.")
    if pack.missing:
        lines.append(f"No quote speaks of: {', '.join(pack.missing)}")
    for found in pack.contradictions:
        lines.append("These contradict each other:")
        lines += [f"  {q.date or '—'}  {shorten(q.text, 200)}  ({q.source})" for q in found.statements]
    return [*lines, *(f"note: {problem}" for problem in pack.problems)]
