"""Questions and answers from CSV, JSONL and Markdown files, and back into JSONL."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from letopis.model.cases import Case

_QUESTION = ("question", "q", "вопрос", "query", "prompt")
_ANSWER = ("answer", "a", "ответ", "response", "completion")
_COLLECTION = ("collection", "category", "topic", "коллекция", "категория", "тема")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with its answer, as it stands in a file from line `line` on."""

    line: int
    question: str
    answer: str
    collection: str = ""
    wordings: tuple[str, ...] = ()
    valid_until: str = ""


def read(name: str, text: str) -> tuple[list[Pair], list[str]]:
    """The pairs of a file, by the ending of its name, and what could not be taken and why."""
    ending = name.rpartition(".")[2].casefold()
    reader = {"csv": _csv, "tsv": _csv, "jsonl": _jsonl, "ndjson": _jsonl, "md": _markdown, "markdown": _markdown}.get(
        ending
    )
    if reader is None:
        return [], [f"{name}: the ending must be .csv, .tsv, .jsonl or .md"]
    pairs, problems = reader(text.removeprefix("\ufeff"))
    whole = [bool(pair.question.strip() and pair.answer.strip()) for pair in pairs]
    kept = [pair for pair, is_whole in zip(pairs, whole, strict=True) if is_whole]
    lacking = [
        f"line {pair.line}: the question or the answer is empty"
        for pair, is_whole in zip(pairs, whole, strict=True)
        if not is_whole
    ]
    return kept, problems + lacking


def _csv(text: str) -> tuple[list[Pair], list[str]]:
    first = text.partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return [], [f"it is no CSV: {error}"]
    header = [cell.strip().casefold() for cell in rows[0]] if rows else []
    question, answer = _column(header, _QUESTION), _column(header, _ANSWER)
    if question is None or answer is None:
        return [], ["its first line must name the columns `question` and `answer` (or «вопрос» and «ответ»)"]
    collection, pairs, problems, line = _column(header, _COLLECTION), [], [], 2
    for row in rows[1:]:
        if len(row) <= max(question, answer):
            problems += [f"line {line}: it has {len(row)} columns"] if row else []
        else:
            own = row[collection] if collection is not None and len(row) > collection else ""
            pairs.append(Pair(line, row[question].strip(), row[answer].strip(), own.strip()))
        line += 1 + sum(cell.count("\n") for cell in row)
    return pairs, problems


def _column(header: list[str], wanted: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in wanted if name in header), None)


def _jsonl(text: str) -> tuple[list[Pair], list[str]]:
    pairs, problems = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            problems.append(f"line {number}: it is no JSON")
            continue
        fields = {str(k).casefold(): v for k, v in record.items()} if isinstance(record, dict) else {}
        question, answer = _field(fields, _QUESTION), _field(fields, _ANSWER)
        if not question or not answer:
            problems.append(f"line {number}: it has no `question` and `answer`")
            continue
        wordings = fields.get("wordings")
        more = tuple(w for w in wordings if isinstance(w, str)) if isinstance(wordings, list) else ()
        until = _field(fields, ("valid_until",))
        pairs.append(Pair(number, question, answer, _field(fields, _COLLECTION), more, until))
    return pairs, problems


def _field(fields: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((fields[n].strip() for n in names if isinstance(fields.get(n), str)), "")


def _markdown(text: str) -> tuple[list[Pair], list[str]]:
    pairs, problems = [], []
    collection, question, start, body = "", "", 0, list[str]()
    fenced = False
    for number, line in enumerate([*text.split("\n"), "## "], 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.startswith(("# ", "## ")):
            body.append(line)
            continue
        answer = "\n".join(body).strip()
        if question and answer:
            pairs.append(Pair(start, question, answer, collection))
        elif question:
            problems.append(f"line {start}: the question {question!r} has no answer below it")
        body, question, start = [], "", number
        if line.startswith("# "):
            collection = line[2:].strip()
        else:
            question = line[3:].strip()
    return pairs, problems


def exported(cases: Iterable[Case], names: dict[str, str]) -> str:
    """Cases as JSONL that `read` takes back."""
    lines = []
    for case in cases:
        record: dict[str, Any] = {"question": case.question, "answer": case.answer}
        record |= {"collection": names.get(case.collection, case.collection), "wordings": case.wordings}
        record |= {"valid_until": case.valid_until} if case.valid_until else {}
        lines.append(json.dumps(record, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)
