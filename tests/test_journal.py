"""The file and the journal brought together: stale buffers, hand edits, undo."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from letopis.model import facts, journal
from letopis.model.facts import Document, Fact
from letopis.model.journal import Batch, Event

counter = itertools.count(1)


def event_id() -> str:
    return f"{next(counter):08x}"


class History:
    """A journal and the file as it stood after each of its batches."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.versions: list[Document] = [facts.parse("# Memory\n\nProse.\n")]

    def change(self, *events: Event) -> None:
        document = self.versions[-1]
        for event in events:
            if event.after is None:
                assert event.before is not None
                document = facts.without(document, (event.before.id,))
            elif event.before is None:
                document = facts.added(document, event.after)
            else:
                document = facts.replaced(document, event.after)
        batch = Batch(event_id(), "2026-03-01T10:00:00+03:00", "model", events)
        self.batches.append(batch)
        self.versions.append(facts.marked(document, batch.id))

    def add(self, id_: str, text: str, section: str = "") -> None:
        self.change(Event(event_id(), "added", None, Fact(id_, text, section)))

    def merged(self, found: Document) -> journal.Merged:
        return journal.reconciled(found, self.batches, event_id, "2026-03-05")


def history() -> History:
    made = History()
    for number in range(6):
        made.add(f"{number:08x}", f"Fact number {number}", "Numbers" if number % 2 else "")
    return made


def texts(document: Document) -> set[str]:
    return {fact.text for fact in document.facts}


@given(st.integers(0, 6))
def test_an_old_version_saved_over_the_new_one_loses_nothing(version: int) -> None:
    past = history()
    merged = past.merged(past.versions[version])
    assert texts(merged.document) == texts(past.versions[-1])
    assert merged.by_hand == ()


@given(st.integers(1, 6), st.integers(0, 5))
def test_a_fact_deleted_by_hand_stays_deleted_whatever_the_age_of_the_buffer(version: int, number: int) -> None:
    past = history()
    if number >= version:
        return
    found = facts.without(past.versions[version], (f"{number:08x}",))
    merged = past.merged(found)
    assert texts(merged.document) == texts(past.versions[-1]) - {f"Fact number {number}"}
    assert [(e.op, e.fact_id) for e in merged.by_hand] == [("removed", f"{number:08x}")]


def test_an_edit_in_a_stale_buffer_and_newer_facts_both_stay() -> None:
    past = history()
    text = past.versions[3].text().replace("Fact number 1", "Fact number one").replace("Prose.", "My prose.")
    merged = past.merged(facts.parse(text + "- written by hand\n"))
    assert "My prose." in merged.document.text()
    assert texts(merged.document) >= {"Fact number one", "written by hand", "Fact number 4", "Fact number 5"}
    assert sorted(e.op for e in merged.by_hand) == ["added", "replaced"]


def test_a_fact_replaced_meanwhile_is_newer_than_an_untouched_stale_buffer() -> None:
    past = history()
    stale = past.versions[-1]
    past.change(Event(event_id(), "replaced", stale.by_id()["00000002"].fact, Fact("00000002", "Newer")))
    assert "Newer" in texts(past.merged(stale).document)
    assert past.merged(stale).by_hand == ()


def test_a_fact_removed_meanwhile_does_not_come_back_from_a_stale_buffer() -> None:
    past = history()
    stale = past.versions[-1]
    past.change(Event(event_id(), "removed", stale.by_id()["00000002"].fact, None))
    assert "Fact number 2" not in texts(past.merged(stale).document)


def test_a_persons_edit_wins_over_a_change_made_meanwhile_and_both_are_told() -> None:
    past = history()
    stale = past.versions[-1]
    past.change(Event(event_id(), "replaced", stale.by_id()["00000002"].fact, Fact("00000002", "By the model")))
    merged = past.merged(facts.parse(stale.text().replace("Fact number 2", "By hand")))
    assert "By hand" in texts(merged.document)
    (event,) = merged.by_hand
    assert event.before is not None
    assert event.before.text == "By the model"


def test_without_the_mark_the_closest_version_is_taken_for_the_base() -> None:
    past = history()
    text = past.versions[4].text().rsplit("<!-- letopis", 1)[0]
    assert texts(past.merged(facts.parse(text)).document) == texts(past.versions[-1])


def test_merging_twice_changes_nothing_more() -> None:
    past = history()
    text = past.versions[3].text().replace("Fact number 1", "Fact number one")
    first = past.merged(facts.parse(text))
    past.batches.append(Batch(event_id(), "t", "person", first.by_hand))
    second = past.merged(facts.marked(first.document, past.batches[-1].id))
    assert second.by_hand == ()
    assert second.restored == ()
    assert texts(second.document) == texts(first.document)


def test_a_batch_reads_back_from_its_line() -> None:
    fact = Fact("0000000a", "Текст", "Раздел", "2026-03-01", ("s#1",))
    event = Event("e1", "replaced", fact, Fact("0000000a", "Новый", "Раздел"), "why", "e0")
    batch = Batch("b1", "2026-03-01T10:00:00+03:00", "model", (event,), "s", (1, 5))
    assert journal.parse_batch(batch.record()) == batch


def test_an_inverse_takes_an_event_back() -> None:
    past = history()
    for event in [e for b in past.batches for e in b.events][::-1]:
        past.change(journal.inverse(event, event_id(), "undo"))
    assert journal.replay(past.batches) == {}
