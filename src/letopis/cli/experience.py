"""`letopis experience`: cases, lessons, suggestions and their review."""

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from letopis.cli.app import App, Day, common
from letopis.errors import InvalidInput
from letopis.model.cases import Case
from letopis.model.text import decoded, one_line, shorten


@click.group("experience")
@common
def command(app: App) -> None:
    """Questions answered well, and lessons of those answered badly."""


@command.command()
@click.argument("question")
@click.argument("answer")
@click.option("--collection", help="Its theme; without it the nearest collection is taken.")
@click.option("--valid-until", metavar="DATE", type=Day(), help="The last day on which it is right.")
@common
def add(app: App, question: str, answer: str, collection: str | None, valid_until: str | None) -> None:
    """Keep a QUESTION with its right ANSWER."""
    from letopis.experience.add import Added
    from letopis.experience.add import add as keep

    made = keep(app.memory().desk, question, answer, collection, valid_until=valid_until or "")
    record: dict[str, Any] = {"status": "ok" if isinstance(made, Added) else "known", "case": made.case.record()}
    lines = [f"{'Kept' if isinstance(made, Added) else 'Known already'}: {line_of(made.case)}"]
    if isinstance(made, Added) and made.conflicts:
        record["contradicts"] = [case.record() for case in made.conflicts]
        lines.append("It contradicts these; until you end one, a person is asked (`letopis experience end ID`):")
        lines += [f"  {line_of(case)}" for case in made.conflicts]
    app.show(record, "\n".join(lines))


@command.command(name="list")
@click.option("--collection", help="Only this collection.")
@click.option("--all", "ended", is_flag=True, help="Also the cases that are not suggested any more.")
@common
def list_(app: App, collection: str | None, ended: bool) -> None:
    """The cases, by collection."""
    memory = app.memory()
    with memory.store.experience.reading() as bank:
        today = memory.store.clock.now().date().isoformat()
        shown = [c for c in bank.cases.values() if ended or c.stands(today)]
        names = bank.names
    if collection is not None:
        shown = [c for c in shown if collection in (c.collection, names.get(c.collection))]
    lines = []
    for slug in sorted({c.collection for c in shown}):
        lines += [names.get(slug, slug), *(f"  {line_of(c)}" for c in shown if c.collection == slug)]
    none = "No cases yet; `letopis experience add QUESTION ANSWER` or `import FILE` begins."
    app.show({"status": "ok", "cases": [c.record() for c in shown]}, "\n".join(lines) or none)


@command.command()
@click.argument("case")
@common
def show(app: App, case: str) -> None:
    """One CASE with its wordings, counts and earlier answers."""
    own, wrong = _case(app, case)
    counts = f"{own.uses} uses, {own.successes} right, {own.failures} wrong; confidence {own.confidence:.2f}"
    lines = [f"{own.id} · {own.collection} · {own.author} · {own.created[:10]}", f"Question: {own.question}"]
    lines += [f"  also: {wording}" for wording in own.wordings]
    lines += [f"Answer: {own.answer}", counts]
    lines += [f"Source: {own.source}"] if own.source else []
    lines += [f"Right until {own.valid_until}"] if own.valid_until else []
    lines += [f"Ended: {own.ended}"] if own.ended else []
    lines += [f"Before {until[:10]}: {answer}" for answer, until in own.replaced]
    lines += [f"Wrong for “{a['question']}”: {a['wrong']}" for a in wrong]
    app.show({"status": "ok", "case": own.record(), "wrong_answers": wrong}, "\n".join(lines))


def _case(app: App, id_: str) -> tuple[Case, list[dict[str, object]]]:
    with app.memory().store.experience.reading() as bank:
        if id_ not in bank.cases:
            raise InvalidInput(f"there is no case {id_!r}; `letopis experience list` shows those there are")
        wrong = [a.record() for a in bank.antipatterns.values() if id_ in (a.wrong_case, a.right_case)]
        return bank.cases[id_], wrong


@command.command()
@click.argument("case")
@click.option("--why", default="ended by a person", help="Why it is not right any more.")
@common
def end(app: App, case: str, why: str) -> None:
    """Take a CASE out of suggestions; it stays readable. Of two that contradict, end the wrong one."""
    memory = app.memory()
    own, _ = _case(app, case)
    memory.store.experience.append(own.collection, [{"_type": "ended", "case": own.id, "why": why}])
    app.show({"status": "ok", "case": own.id}, f"Ended: {line_of(own)}")


@command.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--collection", help="Only from this collection.")
@click.option("--no-keep", is_flag=True, help="Do not note it for review and for the figures.")
@common
def suggest(app: App, question: tuple[str, ...], collection: str | None, no_keep: bool) -> None:
    """The answer that experience suggests, and whether a person should look at it."""
    found = app.memory().suggest(" ".join(question), collection=collection, keep=not no_keep)
    lines = [f"{found.verdict}: {found.reason} (confidence {found.confidence:.2f})"]
    lines += [found.draft if found.verdict == "answer" else f"draft, not sure: {found.draft}"] if found.draft else []
    lines += [f"  case {case.id} ({score:.2f}): {shorten(one_line(case.question), 120)}" for case, score in found.cases]
    lines += [f"  lesson: {shorten(one_line(f'{one.when} → {one.do}'), 200)}" for one in found.lessons]
    lines += [f"  WRONG before: {shorten(one_line(a.wrong), 160)}" for a in found.antipatterns]
    lines += [f"review it: letopis experience review {found.id}"] if found.id else []
    app.show(found.record(), "\n".join(lines))


@command.command()
@click.argument("suggestion", required=False)
@click.option("--approve", "outcome", flag_value="approved", help="The draft is right.")
@click.option("--edit", "outcome", flag_value="edited", help="The case was meant; --right is its answer from now on.")
@click.option("--reject", "outcome", flag_value="rejected", help="The draft is wrong; --right is the right answer.")
@click.option("--right", default="", metavar="TEXT", help="The right answer.")
@click.option("--note", default="", help="Why.")
@click.option("--reviewer", default="", help="Who says so; without it your user name.")
@common
def review(app: App, suggestion: str | None, outcome: str | None, right: str, note: str, reviewer: str) -> None:
    """Say whether suggestions were right: one by its id, or all that wait, one after the other."""
    from letopis.cli import reviewing

    memory, who = app.memory(), reviewer or _user()
    if outcome is not None:
        if suggestion is None:
            raise click.UsageError("name the suggestion that you review")
        reviewing.show(app, memory.review(suggestion, outcome, right, note=note, reviewer=who))
        return
    reviewing.walk(app, memory, suggestion, who)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return os.environ.get("USER", "operator")


@command.command()
@common
def lessons(app: App) -> None:
    """The lessons, the best founded first."""
    with app.memory().store.experience.reading() as bank:
        found = sorted(bank.lessons.values(), key=lambda one: (-one.count, one.at))
        records = [one.record() for one in found]
    lines = []
    for one in records:
        lines += [f"{one['id']} · {one['collection']} · {one['count']} failures", f"  when  {one['when']}"]
        lines += [f"  do    {one['do']}", f"  don't {one['dont']}"]
    app.show({"status": "ok", "lessons": records}, "\n".join(lines) or "No lessons yet: nothing was answered wrongly.")


@command.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--collection", help="Put all into this collection.")
@common
def import_(app: App, file: Path, collection: str | None) -> None:
    """Bring in questions and answers: CSV, JSONL, or Markdown (`## question`, the answer below it)."""
    from letopis.experience.importing import bring_in

    text = decoded(file.read_bytes())
    if text is None:
        raise InvalidInput(f"{file} is not text in UTF-8, so nothing was imported; save it as UTF-8")
    report = bring_in(app.memory().desk, file.name, text, collection, _progress(app))
    lines = [f"{report.added} new, {report.merged} new wordings of known cases, {report.known} known already"]
    for case, others in report.conflicts:
        lines += [f"contradicts: {line_of(case)}", *(f"       with: {line_of(other)}" for other in others)]
    lines += [f"not taken: {problem}" for problem in report.problems]
    record: dict[str, Any] = {"status": "partly" if report.problems else "ok", "added": report.added}
    record |= {"merged": report.merged, "known": report.known, "problems": report.problems}
    record["conflicts"] = [{"case": c.record(), "with": [o.record() for o in others]} for c, others in report.conflicts]
    app.show(record, "\n".join(lines))
    if report.problems:
        raise click.exceptions.Exit(1)


def _progress(app: App) -> Callable[[int, int], None]:
    def shown(done: int, total: int) -> None:
        if not app.json and (done % 500 == 0 and done < total):
            click.echo(f"{done} of {total}", err=True)

    return shown


@command.command()
@click.option("--collection", help="Only this collection.")
@common
def export(app: App, collection: str | None) -> None:
    """Print the cases as JSONL, which `import` takes back."""
    from letopis.model.pairs import exported

    memory = app.memory()
    today = memory.store.clock.now().date().isoformat()
    with memory.store.experience.reading() as bank:
        shown = [c for c in bank.standing(today) if collection in (None, c.collection, bank.names.get(c.collection))]
        click.echo(exported(shown, bank.names), nl=False)


@command.command()
@click.option("--svg", is_flag=True, help="Print the chart as SVG, for a file or a page.")
@common
def stats(app: App, svg: bool) -> None:
    """How often a person was needed, what was wrong, and what was wrong again, over time."""
    from letopis.model import desk_figures

    memory = app.memory()
    with memory.store.experience.reading() as bank:
        found = desk_figures.periods(bank)
        covered = desk_figures.coverage(bank, memory.store.clock.now().date().isoformat())
    if svg:
        picture = desk_figures.svg(found)
        app.show({"status": "ok", "svg": picture}, picture)
        return
    lines = [f"{'from':10}  {'to':10}  questions  person  wrong  repeated"]
    lines += [
        f"{p.first:10}  {p.last:10}  {p.questions:9}  {p.asked:5.0%}  {p.wrong:5.1%}  {p.repeated:7.1%}" for p in found
    ]
    lines.append(f"needed a person, over time  {desk_figures.bars([p.asked for p in found])}")
    lines += [
        f"{c.name}: {c.cases} cases, {c.lessons} lessons, {c.share:.0%} of {c.questions} needed nobody" for c in covered
    ]
    none = "Nothing was suggested yet; `letopis experience suggest QUESTION` begins."
    record = {"status": "ok", "periods": [p.record() for p in found], "collections": [c.record() for c in covered]}
    app.show(record, "\n".join(lines) if found or covered else none)


def line_of(case: Case) -> str:
    """A case on one line."""
    flags = "".join(filter(None, [" [ended]" if case.ended else "", " [contradicted]" if case.contested else ""]))
    text = f"{shorten(one_line(case.question), 100)} → {shorten(one_line(case.answer), 100)}"
    return f"{case.id}  {case.confidence:.2f}  {text}{flags}"
