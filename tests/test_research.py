"""Research: a question asked in several ways, with what is missing and what contradicts."""

import json

from click.testing import CliRunner

from letopis.cli.main import cli
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory
from letopis.model import evidence
from letopis.model.evidence import Quote
from letopis.tools import ToolContext, available, call
from tests.conftest import Opener, user


def test_a_question_is_asked_by_its_parts_names_quotations_and_days() -> None:
    found = evidence.ways("Сколько стоит дуб и когда привезёт доски Борис, который сказал «без аванса» 3 мая 2026?")
    by = {way.why: way.text for way in found}
    assert by["a name in it"] == "Борис"
    assert by["quoted in it"] == '"без аванса"'
    assert any(way.since == "2026-05-03" for way in found)
    assert "Сколько стоит дуб" in [way.text for way in found]
    assert len({(w.text, w.since) for w in found}) == len(found)


def test_different_figures_of_one_thing_contradict_and_other_things_do_not() -> None:
    quotes = [
        Quote("a#1", "2026-01-02", "message", "Аренда склада стоит 40 000 в месяц. Погода хорошая."),
        Quote("a#9", "2026-03-02", "message", "Аренда склада теперь стоит 52 000 в месяц."),
        Quote("b#1", "2026-02-02", "message", "Аренда офиса стоит 90 000."),
        Quote("c#1", "2026-02-03", "message", "Склад стоит на берегу."),
    ]
    found = evidence.contradictions("Сколько стоит аренда склада?", quotes)
    assert [[q.source for q in c.statements] for c in found] == [["a#1", "a#9"]]
    denied = [Quote("a#1", "1", "m", "Boris drinks coffee"), Quote("a#2", "2", "m", "Boris does not drink coffee")]
    assert len(evidence.contradictions("Does Boris drink coffee?", denied)) == 1
    corrected = [
        Quote("a#1", "1", "m", "Oak board costs 1200 per m2"),
        Quote("a#2", "2", "m", "Actually the oak board costs 1250 per m2, not 1200"),
    ]
    assert len(evidence.contradictions("How much is the oak board?", corrected)) == 1
    assert evidence.missing("Сколько стоит аренда гаража?", quotes) == ["гаража"]


def filled(memory: Memory) -> str:
    session_id = memory.append("k", user("Аренда склада стоит 40 000 в месяц")).session_id
    memory.append("other", user("Борис обещал привезти доски 3 мая"))
    memory.append("k", user("Аренда склада теперь стоит 52 000 в месяц"))
    return session_id


def test_the_tool_brings_quotes_with_their_sources(opened: Opener) -> None:
    model = ScriptedModel(calling("other_words", {"questions": ["плата за хранение", ""]}))
    memory = opened(model)
    session_id = filled(memory)
    where = ToolContext(memory.store, memory.index, "k", session_id, 99, False, model)
    question = {"question": "Сколько стоит аренда склада и что обещал Борис?"}
    out = call(available(memory.store), where, "research", question)
    assert out["status"] == "ok"
    assert {f"{session_id}#1", f"{session_id}#2"} <= {q["source"] for q in out["quotes"]}
    assert any("Борис" in q["text"] for q in out["quotes"])
    assert "плата за хранение" in [way["query"] for way in out["asked"]]
    assert [len(c["statements"]) for c in out["contradictions"]] == [2]
    shared = ToolContext(memory.store, memory.index, "k", session_id, 99, True)
    assert not any("Борис" in q["text"] for q in call(available(memory.store), shared, "research", question)["quotes"])


def test_a_model_that_fails_leaves_the_question_as_it_is(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise="Error: 500"))
    filled(memory)
    pack = memory.research("аренда склада")
    assert pack.quotes
    assert "in its own words" in pack.problems[-1]


def test_the_command_shows_it(memory: Memory) -> None:
    filled(memory)
    where = ["research", "Сколько стоит аренда склада или гаража?", "--workspace", str(memory.store.workspace.root)]
    shown = CliRunner().invoke(cli, where, catch_exceptions=False).output
    assert "contradict" in shown
    assert "гаража" in shown
    record = json.loads(CliRunner().invoke(cli, [*where, "--json"], catch_exceptions=False).output)
    assert record["missing"] == ["гаража"]
