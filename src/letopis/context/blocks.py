"""The blocks of the system message: read, cut to their caps, with the cut marked."""

from dataclasses import dataclass, replace

from letopis.model import tokens
from letopis.model.facts import DEFAULT_TEXT, Document, without, without_prose
from letopis.model.text import printable, shorten
from letopis.store import Store
from letopis.store.bootstrap import BootstrapFile, soul_of

USER_CHARACTERS = 16_000
# The largest share of the budget that each block may take. Together they leave room for the
# conversation, whatever the files hold, and none can starve another.
SHARES = {"system": 0.12, "AGENTS.md": 0.10, "SOUL.md": 0.10, "TOOLS.md": 0.08, "USER.md": 0.12, "MEMORY.md": 0.25}
_MARK_TOKENS = 60


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the prompt: its text, tokens and cap, and what was cut or went wrong."""

    name: str
    text: str
    tokens: int
    cap: int
    cut: str = ""
    problem: str = ""


def file_block(name: str, file: BootstrapFile | None, budget: int) -> Block | None:
    """The block of a file of the person's; None where there is nothing to say."""
    cap = int(budget * SHARES[name])
    if file is None:
        return None
    if file.problem:
        return Block(name, "", 0, cap, problem=file.problem)
    if not _says_something(file.text):
        return None
    return cut_block(name, file.text.strip(), cap)


def user_block(store: Store, budget: int) -> Block | None:
    """`USER.md`: at most a quarter of the window in characters, and at most 16,000."""
    file = store.bootstrap("USER.md")
    if file is None or file.problem or not _says_something(file.text):
        return file_block("USER.md", file, budget)
    limit = min(store.settings.context_window_tokens // 4, USER_CHARACTERS)
    text = file.text.strip()
    if len(text) <= limit:
        return cut_block("USER.md", text, int(budget * SHARES["USER.md"]))
    shown = shorten(text, limit, "")
    cut = f"{len(text) - len(shown)} of {len(text)} characters are not shown"
    block = cut_block("USER.md", shown, int(budget * SHARES["USER.md"]))
    return Block(block.name, f"{block.text}\n[USER.md is cut here: {cut}]", block.tokens + 20, block.cap, cut)


def memory_block(store: Store, budget: int) -> Block | None:
    """`MEMORY.md`: whole facts; where they do not all fit, the oldest stay out."""
    view = store.facts.view()
    cap = int(budget * SHARES["MEMORY.md"])
    if view.problem:
        return Block("MEMORY.md", "", 0, cap, problem=view.problem)
    if view.document.for_prompt() == DEFAULT_TEXT.strip() or not _says_something(view.document.for_prompt()):
        return None
    text, left_out = _fitted(view.document, cap)
    cut = "; ".join(left_out)
    if cut:
        text = f"{text}\n[MEMORY.md is cut: {cut}; memory_search finds the rest]"
    block = cut_block("MEMORY.md", text, cap)
    return replace(block, cut="; ".join(filter(None, [cut, block.cut])))


def _fitted(document: Document, cap: int) -> tuple[str, list[str]]:
    """The text within the cap, and what was left out for it: first prose, then the oldest facts."""
    text, left_out = document.for_prompt(), []
    if tokens.weigh(text) <= cap:
        return text, []
    facts_only = without_prose(document)
    if facts_only.text() != document.text():
        left_out.append("text that is no fact is not shown")
        document, text = facts_only, facts_only.for_prompt()
    over = tokens.weigh(text) + _MARK_TOKENS - cap
    gone: set[str] = set()
    for bullet in sorted(document.by_id().values(), key=lambda b: (b.fact.date, b.start)):
        if over <= 0:
            break
        over -= tokens.weigh(f"- {bullet.fact.text}\n")
        gone.add(bullet.fact.id)
    if gone:
        left_out.append(f"{len(gone)} of {len(document.facts)} facts are not shown")
    return without(document, gone).for_prompt(), left_out


def cut_block(name: str, text: str, cap: int) -> Block:
    """A block of at most `cap` tokens; a cut stands where it was made."""
    text = printable(text)
    size = tokens.estimate(text)
    if size <= cap:
        return Block(name, text, size, cap)
    whole = len(text)
    keep = max(0, int(whole * (cap - _MARK_TOKENS) / size))
    shown = shorten(text, keep, "")
    while shown and tokens.estimate(shown) > cap - _MARK_TOKENS:
        shown = shorten(shown, int(len(shown) * 0.9), "")
    cut = f"{whole - len(shown)} of {whole} characters are not shown"
    marked = f"{shown}\n[{name} is cut here: {cut}]"
    return Block(name, marked, tokens.estimate(marked), cap, cut)


def soul_block(store: Store, persona: str, budget: int) -> Block | None:
    """The persona's character."""
    return file_block("SOUL.md", store.bootstrap(soul_of(persona)), budget)


def _says_something(text: str) -> bool:
    """Whether anything but comments and blank lines stands in a file."""
    while "<!--" in text:
        before, _, rest = text.partition("<!--")
        _, closed, after = rest.partition("-->")
        text = before + (after if closed else "")
    return bool(text.strip())
