"""`letopis search`."""

import re

import click

from letopis.cli.app import App, common
from letopis.model.search import SCOPES, Hit
from letopis.model.text import normalise, one_line, shorten, stem


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(SCOPES), default="all", show_default=True, help="What to search.")
@click.option("-k", "--limit", default=10, show_default=True, help="How many hits.")
@click.option("--key", help="Only conversations under this key.")
@click.option("--session", "session_id", help="Only this session.")
@click.option("--since", metavar="DATE", help="Not older than YYYY-MM-DD.")
@click.option("--until", metavar="DATE", help="Not newer than YYYY-MM-DD.")
@common
def command(app: App, words: tuple[str, ...], scope: str, limit: int, **filters: str | None) -> None:
    """Find what was kept or said. Quotes ask for the exact phrase."""
    found = app.memory().search(" ".join(words), scope=scope, k=limit, **filters)
    lines = []
    if found.relaxed:
        lines.append("Nothing holds all these words; the closest:")
    lines += [_shown(hit) for hit in found.hits]
    if found.hits and len(found.hits) < found.total:
        lines.append(f"showing {len(found.hits)} of {found.total}; -k {found.total} shows all")
    if not found.hits:
        lines.append("Nothing found.")
    lines += [f"note: {problem}" for problem in found.problems]
    app.show(found.record(), "\n".join(lines))


def _shown(hit: Hit) -> str:
    text = shorten(one_line(hit.text), 400)
    marked = re.sub(r"[^\W_]+", lambda m: _highlighted(m[0], hit.matched), text)
    where = " · ".join(filter(None, [hit.source, hit.date, hit.kind, hit.heading or hit.key, hit.role]))
    superseded = " (superseded)" if hit.superseded else ""
    return f"{click.style(where, dim=True)}{superseded}\n  {marked}"


def _highlighted(word: str, matched: tuple[str, ...]) -> str:
    return click.style(word, bold=True) if stem(normalise(word)) in matched else word
