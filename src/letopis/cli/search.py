"""`letopis search`."""

import click

from letopis.cli.app import App, Day, common
from letopis.model import terms
from letopis.model.search import KINDS, SCOPES, Hit
from letopis.model.text import one_line, shorten


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(SCOPES), default="all", show_default=True, help="What to search.")
@click.option("-k", "--limit", default=10, show_default=True, type=click.IntRange(1), help="How many hits.")
@click.option("--key", help="Only conversations under this key.")
@click.option("--session", "session_id", help="Only this session.")
@click.option("--since", metavar="DATE", type=Day(), help="Not older than YYYY-MM-DD.")
@click.option("--until", metavar="DATE", type=Day(), help="Not newer than YYYY-MM-DD.")
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind.")
@click.option("--explain", is_flag=True, help="Show what each signal gave to the score.")
@common
def command(app: App, words: tuple[str, ...], scope: str, limit: int, explain: bool, **filters: str | None) -> None:
    """Find what was kept or said. Quotes ask for the exact phrase."""
    found = app.memory().search(" ".join(words), scope=scope, k=limit, **filters)
    lines = []
    if found.relaxed:
        lines.append("Nothing holds all these words; the closest:")
    lines += [_shown(hit) + (_explained(hit) if explain else "") for hit in found.hits]
    if found.hits and len(found.hits) < found.total:
        lines.append(f"showing {len(found.hits)} of {found.total}; -k {found.total} shows all")
    if not found.hits:
        lines.append("Nothing found.")
    lines += [f"note: {problem}" for problem in found.problems]
    record = dict(found.record())
    if explain:
        record["hits"] = [hit.record() | {"parts": dict(hit.parts)} for hit in found.hits]
    app.show(record, "\n".join(lines))


def _shown(hit: Hit) -> str:
    text = shorten(one_line(hit.text), 400)
    pieces = terms.highlighted(text, hit.matched)
    marked = "".join(click.style(piece, bold=True) if matched else piece for piece, matched in pieces)
    where = " · ".join(filter(None, [hit.source, hit.date, hit.kind, hit.heading or hit.key, hit.role]))
    superseded = " (superseded)" if hit.superseded else ""
    return f"{click.style(where, dim=True)}{superseded}\n  {marked}"


def _explained(hit: Hit) -> str:
    parts = " + ".join(f"{name} {value:.3f}" for name, value in hit.parts.items() if value)
    return click.style(f"\n  {hit.score:.3f} = {parts}; words: {', '.join(hit.matched) or 'none'}", dim=True)
