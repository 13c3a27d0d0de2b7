"""2,000 messages over real HTTP: every prompt in budget, every planted fact at hand, no message lost."""

from pathlib import Path

import pytest

from tests import invariants
from tests.long_conversation import KEY, REPLY, WINDOW, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("failing", [0.0, 1 / 3, 1.0], ids=["good", "one call in three fails", "down"])
def test_a_conversation_of_two_thousand_messages(folder: Path, failing: float) -> None:
    told = run(folder, turns=1_000 if failing < 1 else 400, failing=failing)
    assert told.missing() == []
    assert max(told.sizes()) <= WINDOW - REPLY
    messages = told.memory.history(key=KEY)[1].messages
    assert [m.text for m in messages if m.role == "user"] == told.said
    invariants.check(told.memory)
    if not failing:
        assert len(messages) == 2_000
        assert told.shared() > 0.6
        assert sum(told.sizes()) < told.full / 5
        facts = [fact.text for fact in told.memory.facts()]
        assert len(facts) == len(set(facts))


def test_with_compression_off_the_same_holds(folder: Path) -> None:
    told = run(folder, turns=300, compression=False)
    assert told.missing() == []
    assert max(told.sizes()) <= WINDOW - REPLY
