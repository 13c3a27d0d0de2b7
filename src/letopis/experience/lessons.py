"""Gathers failures of one kind into one lesson: by the model, or in plain words.

Of one kind are failures that took the same case for the same other one, or gave the same wrong answer.
"""

from hashlib import sha256

from letopis.errors import ModelError
from letopis.experience.desk import Desk, prompt
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import guards, payloads
from letopis.model.bank import Bank
from letopis.model.cases import Antipattern, Lesson
from letopis.model.payloads import LessonForm
from letopis.model.text import is_cyrillic, one_line, shorten

_EXAMPLES, _LONGEST = 5, 400
FORM: Form[LessonForm] = Form(
    ToolSpec("lesson", "Say what is to be learnt.", payloads.schema_of(LessonForm)), payloads.parse_lesson
)


def gathered(desk: Desk, antipattern: str, model: ChatModel | None) -> Lesson | None:
    """The lesson that a failure belongs to, brought up to date; None where the right answer is not known."""
    with desk.store.experience.changing() as bank:
        failure = bank.antipatterns.get(antipattern)
        if failure is None or not failure.right:
            return None
        kin = _of_one_kind(bank, failure)
        lesson = _plain(failure, kin)
        record: dict[str, object] = {
            "_type": "lesson",
            "id": lesson.id,
            "when": lesson.when,
            "do": lesson.do,
            "dont": lesson.dont,
        }
        record |= {"examples": lesson.examples, "evidence": lesson.evidence}
        desk.store.experience.append(failure.collection, [{**record, "by": failure.by}])
    told = _told(desk, model, kin) if model is not None else None
    if told is not None:
        words = {"when": told.when, "do": told.do, "dont": told.dont, "by": "model"}
        desk.store.experience.append(failure.collection, [{**record, **words}])
    with desk.store.experience.reading() as bank:
        return bank.lessons[lesson.id]


def _of_one_kind(bank: Bank, failure: Antipattern) -> list[Antipattern]:
    return [a for a in bank.antipatterns.values() if a.right and _key(a) == _key(failure)]


def _key(failure: Antipattern) -> tuple[str, str]:
    return (failure.wrong_case or failure.wrong, failure.right_case or failure.right)


def _plain(failure: Antipattern, kin: list[Antipattern]) -> Lesson:
    """The lesson in the words of its failures."""
    examples = list(dict.fromkeys(shorten(one_line(a.question), _LONGEST) for a in reversed(kin)))[:_EXAMPLES]
    russian = is_cyrillic(failure.question)
    shown = "; ".join(f"«{e}»" if russian else f"“{e}”" for e in examples[:3])
    when = f"Спрашивают вроде {shown}" if russian else f"Asked like {shown}"
    id_ = "l" + sha256("\0".join(_key(failure)).encode("utf-8", "replace")).hexdigest()[:8]
    return Lesson(
        id_, failure.collection, when, failure.right, failure.wrong, "", failure.by, examples, [a.id for a in kin]
    )


def _told(desk: Desk, model: ChatModel, kin: list[Antipattern]) -> LessonForm | None:
    """The lesson in the model's words, if everything in them stands in the failures."""
    said = "\n\n".join(f"Question: {a.question}\nWrong: {a.wrong}\nRight: {a.right}\nWhy: {a.why}" for a in kin[-8:])
    material = f"<<<failures\n{said}\nfailures>>>"
    request = [{"role": "system", "content": prompt("lesson")}, {"role": "user", "content": material}]

    def check(form: LessonForm) -> list[str]:
        texts = (form.when, form.do, form.dont)
        return [f"{missing!r} stands in no failure" for text in texts if (missing := guards.unsupported(text, said))]

    try:
        answer = ask(model, request, FORM, check, lambda r: desk.note_usage("lesson", model.name, r))
    except ModelError:
        return None
    return None if check(answer.payload) else answer.payload
