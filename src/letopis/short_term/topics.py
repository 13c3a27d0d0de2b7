"""Where a conversation turns to another topic: how far a turn is from what was spoken of before.

Weighed are the nearness in meaning of the turn (a question with its answer) to the running topic,
the words they share, how much the question says by itself (who turns to something new says what,
and who goes on leaves it out), and whether it opens like a new conversation, comes
hours later, or says that it turns.
Without vectors words alone decide. The weights were fitted on marked dialogues
(`benchmarks/topics.py`) and are tested on others.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from letopis.model.messages import Message
from letopis.model.text import content_stems, is_cyrillic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_OPENING = 200
SEEN = 12  # messages of the running topic that are looked at
_TELLING = 8  # so many words that carry meaning make a question clear by itself
_TURNS_TO = re.compile(
    r"(?i)^\W*(?:(?:hey|hi|hello|greetings|howdy)\b|(?:good )?(?:morning|afternoon|evening)\b|long time\b"
    r"|привет|здравствуй|добр(?:ый|ое|ого) (?:день|дня|утро|утра|вечер)|доброе|с добрым утром)"
    r"|\b(?:by the way|btw|another (?:question|topic|thing)|on another note|change of (?:subject|topic)"
    r"|let's (?:switch|move on)|different (?:question|topic))\b"
    r"|(?:^|[.!?]\s)(?:кстати|другой вопрос|ещё вопрос|еще вопрос|теперь о другом|о другом|сменим тему|перейд[её]м к)\b"
)
_CUE, _PAUSE = 4.0, timedelta(hours=6)
_NEAR = {"nearness": -7.6, "telling": 8.2, "shared": -8.6, "bias": -5.4}
_WORDS = {"telling": 8.1, "shared": -15.3, "bias": -4.6}
_THRESHOLD = 0.33
# Sentences of no topic in particular: how near any two texts are in the model's eyes. Taken for so
# many messages beside those of the conversation itself.
PLAIN = (
    "Сегодня весь день идёт дождь, и на улице прохладно.",
    "Мой брат купил новый телефон и очень им доволен.",
    "Поезд отправляется с третьего пути через десять минут.",
    "Врач посоветовал больше гулять и меньше волноваться.",
    "Программа не запускается и пишет непонятную ошибку.",
    "На ужин была рыба с картошкой и салат.",
    "Команда выиграла матч в последнюю минуту.",
    "Банк прислал письмо о новых условиях вклада.",
), (
    "The museum opens at nine and closes late on Fridays.",
    "She painted the fence green over the weekend.",
    "The meeting was moved to Thursday afternoon.",
    "Our neighbour plays the piano every evening.",
    "The server returned an error and the page stayed empty.",
    "He forgot his umbrella on the bus this morning.",
    "Prices of vegetables went up again this month.",
    "The book tells of a long journey across the sea.",
)  # fmt: skip

Vectors = Callable[[Sequence[int]], "Mapping[int, Vector]"]
Plain = Callable[[Sequence[str]], "Vector"]


def shifts(turn: Sequence[Message], running: Sequence[Message], vectors: Vectors | None, plain: Plain | None) -> bool:
    """Whether a turn (the user's message, then its answer) speaks of something else than the running topic.

    `vectors` gives the unit vectors of messages by number, `plain` those of texts; None where there are none.
    """
    return probability(turn, running, vectors, plain) > _THRESHOLD


def counts(message: Message) -> bool:
    """Whether a message has a part in what a conversation is about."""
    return message.spoken and bool(message.text.strip())


def probability(
    turn: Sequence[Message], running: Sequence[Message], vectors: Vectors | None, plain: Plain | None
) -> float:
    """How probable it is that the topic changes with this turn, 0 to 1."""
    running = [m for m in running if counts(m)][-SEEN:]
    if not turn or not running:
        return 0.0
    own = set(content_stems(turn[0].text))
    spoken = own.union(*(content_stems(m.text) for m in turn[1:]))
    before = set().union(*(content_stems(m.text) for m in running))
    found = {
        "telling": min(len(own), _TELLING) / _TELLING,
        "shared": len(spoken & before) / max(1, len(spoken)),
        "bias": 1.0,
    }
    nearness = _nearness(turn, running, vectors, plain) if vectors is not None and plain is not None else None
    weights = _WORDS if nearness is None else _NEAR
    found["nearness"] = nearness or 0.0
    said_so = any(_TURNS_TO.search(m.text[:_OPENING]) for m in turn) or _paused(running[-1], turn[0])
    score = sum(weight * found[name] for name, weight in weights.items()) + _CUE * said_so
    return 1 / (1 + math.exp(-score))


def _paused(before: Message, after: Message) -> bool:
    """Whether so much time has passed that a conversation begins anew."""
    try:
        gap = datetime.fromisoformat(after.timestamp) - datetime.fromisoformat(before.timestamp)
    except (ValueError, TypeError):
        return False
    return gap >= _PAUSE


def _nearness(turn: Sequence[Message], running: Sequence[Message], vectors: Vectors, plain: Plain) -> float | None:
    """The cosine between the turn and the running topic, each apart from what all texts have in common."""
    import numpy as np

    known = vectors([m.n for m in (*running, *turn)])
    past = [known[m.n] for m in running if m.n in known]
    new = [known[m.n] for m in turn if m.n in known]
    if not past or not new:
        return None
    common = np.mean([*plain(PLAIN[0 if is_cyrillic(turn[0].text) else 1]), *past, *new], axis=0)
    topic = _sum_of_units([v - common for v in past])
    own = _sum_of_units([v - common for v in new])
    size = float(np.linalg.norm(topic) * np.linalg.norm(own))
    return float(topic @ own) / size if size else None


def _sum_of_units(vectors: "Sequence[Vector]") -> "Vector":
    import numpy as np

    rows = np.stack(vectors)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    total: Vector = (rows / np.where(sizes, sizes, 1.0)).sum(axis=0)
    return total
