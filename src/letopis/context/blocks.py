"""The blocks of the system message: read, cut to their caps, with the cut marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from letopis.model import tokens
from letopis.model.facts import DEFAULT_TEXT, Document, without, without_prose
from letopis.model.text import printable, shorten
from letopis.model.thread import Thread
from letopis.store import Store
from letopis.store.bootstrap import BootstrapFile

USER_CHARACTERS = 16_000
# Of the budget: what is reserved for each block if it needs it, and the most that it may take of
# what others leave. The first named comes first to what is left. Whatever the files hold, no
# block starves another, and the conversation keeps its part.
SHARES = {
    "system": (0.06, 0.12),
    "MEMORY.md": (0.15, 0.30),
    "folded": (0.08, 0.18),
    "anchors": (0.06, 0.15),
    "USER.md": (0.08, 0.14),
    "SOUL.md": (0.06, 0.12),
    "AGENTS.md": (0.06, 0.12),
    "TOOLS.md": (0.04, 0.10),
}
CONVERSATION = 0.25
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A block before it is known how much it may take: what it needs, and how it is cut to a cap."""

    name: str
    needed: int
    within: Callable[[int], Block]


def of_text(name: str, text: str) -> Draft | None:
    """A block of plain text; None where there is nothing to say."""
    if not _says_something(text):
        return None
    return Draft(name, tokens.estimate(printable(text.strip())), lambda cap: cut_block(name, text.strip(), cap))


def of_file(name: str, file: BootstrapFile | None) -> Draft | None:
    """The block of a file of the person's."""
    if file is None:
        return None
    if file.problem:
        return Draft(name, 0, lambda cap: Block(name, "", 0, cap, problem=file.problem))
    return of_text(name, file.text)


def of_user(store: Store) -> Draft | None:
    """`USER.md`: at most a quarter of the window in characters, and at most 16,000."""
    file = store.bootstrap("USER.md")
    limit = min(store.settings.context_window_tokens // 4, USER_CHARACTERS)
    if file is None or file.problem or len(file.text.strip()) <= limit or not _says_something(file.text):
        return of_file("USER.md", file)
    text = file.text.strip()
    shown = shorten(text, limit, "")
    cut = f"{len(text) - len(shown)} of {len(text)} characters are not shown"

    def within(cap: int) -> Block:
        block = cut_block("USER.md", shown, max(0, cap - 20))
        return Block(block.name, f"{block.text}\n[USER.md is cut here: {cut}]", block.tokens + 20, cap, cut)

    return Draft("USER.md", tokens.estimate(shown) + 20, within)


def of_memory(store: Store) -> Draft | None:
    """`MEMORY.md`: whole facts; where they do not all fit, the oldest stay out."""
    view = store.facts.view()
    if view.problem:
        return Draft("MEMORY.md", 0, lambda cap: Block("MEMORY.md", "", 0, cap, problem=view.problem))
    whole = view.document.for_prompt()
    if whole == DEFAULT_TEXT.strip() or not _says_something(whole):
        return None

    def within(cap: int) -> Block:
        text, left_out = _fitted(view.document, cap)
        cut = "; ".join(left_out)
        if cut:
            text = f"{text}\n[MEMORY.md is cut: {cut}; memory_search finds the rest]"
        block = cut_block("MEMORY.md", text, cap)
        return replace(block, cut="; ".join(filter(None, [cut, block.cut])))

    return Draft("MEMORY.md", tokens.estimate(whole), within)


def of_thread(thread: Thread) -> Draft | None:
    """The data of the messages that are not in sight any more, and the goals still open."""
    needed = tokens.estimate(thread.text())
    if not needed:
        return None

    def within(cap: int) -> Block:
        text = thread.text(cap - _MARK_TOKENS if needed > cap else cap)
        cut = "older items are named by their messages only" if needed > cap else ""
        return replace(cut_block("anchors", text, cap), cut=cut)

    return Draft("anchors", needed, within)


def fitted(drafts: Sequence[Draft], budget: int) -> list[Block]:
    """The blocks within the budget: each gets what is reserved for it, then of what is left, in order of SHARES."""
    needed = {draft.name: draft.needed for draft in drafts}
    caps = {name: min(needed.get(name, 0), int(budget * SHARES[name][0])) for name in SHARES}
    spare = int(budget * (1 - CONVERSATION)) - sum(caps.values())
    for name, (_, most) in SHARES.items():
        more = max(0, min(needed.get(name, 0) - caps[name], int(budget * most) - caps[name], spare))
        caps[name] += more
        spare -= more
    return [draft.within(max(caps[draft.name], int(budget * SHARES[draft.name][0]))) for draft in drafts]


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


def _says_something(text: str) -> bool:
    """Whether anything but comments and blank lines stands in a file."""
    while "<!--" in text:
        before, _, rest = text.partition("<!--")
        _, closed, after = rest.partition("-->")
        text = before + (after if closed else "")
    return bool(text.strip())
