"""The pages of the library over real sockets: states, safety, versions, keys, words. The browser is in another file."""

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.experience.add import add
from letopis.memory import Memory
from letopis.model import edited
from letopis.server.library import page, words
from letopis.settings import SystemClock
from letopis.store.keys import Keys
from letopis.store.workspace import open_workspace
from tests import showcase
from tests.serving import memory_server, opener

pytestmark = [pytest.mark.timeout(60)]
HTML = {"Accept": "text/html"}
TEMPLATES = Path(page.__file__).parent / "templates"
PAGES = (
    "/library", "/library/attention", "/library/profile", "/library/facts", "/library/notes", "/library/sessions",
    "/library/search?q=кухня", "/library/context", "/library/experience", "/library/experience/lessons",
    "/library/experience/review", "/library/chat", "/library/health", "/library/health/findings",
    "/library/health/sizes", "/library/enter",
)  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    folder = showcase.made(tmp_path_factory.mktemp("library") / "w")
    with showcase.shown(folder, showcase.LATER) as url, httpx2.Client(base_url=url, headers=HTML) as client:
        yield client


class Seen(HTMLParser):
    """The tags of a page, and what in it could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.dangerous: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if tag == "script" and not str(given.get("src") or "").startswith("/library/static/"):
            self.dangerous.append("script")
        if tag in ("iframe", "object", "embed", "base", "img", "style"):
            self.dangerous.append(tag)
        for name, value in attrs:
            address = re.sub(r"[\s\x00-\x20]", "", value or "").casefold()
            if name.startswith("on") or name == "style" or address.startswith(("javascript:", "data:", "vbscript:")):
                self.dangerous.append(f"{tag} {name}={value}")
        if tag == "a":
            self.links.append(str(given.get("href")))


def made_links(client: httpx2.Client) -> list[str]:
    """Every page of one's own that the lists lead to."""
    found: list[str] = []
    for start in ("/library/facts", "/library/notes?month=2026-03", "/library/notes", "/library/sessions",
                  "/library/experience"):  # fmt: skip
        found += Seen(client.get(start).text).links
    own = {link.partition("#")[0] for link in found if link.startswith("/library/")}
    return sorted(link for link in own if "?language" not in link)


# --- every page ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_every_page_is_there_in_both_languages_and_can_run_nothing_of_others(
    shown: httpx2.Client, language: str
) -> None:
    for address in [*PAGES, *made_links(shown)]:
        answer = shown.get(address, headers={**HTML, "Accept-Language": language})
        assert answer.status_code == 200, address
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert policy.startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert Seen(answer.text).dangerous == [], address
        if answer.text.startswith("<!doctype"):
            assert f'<html lang="{language}">' in answer.text


def test_the_first_page_is_small(shown: httpx2.Client) -> None:
    text = shown.get("/library").text
    files = re.findall(r'(?:src|href)="(/library/static/[^"]+)"', text)
    assert len(text.encode()) + sum(len(shown.get(file).content) for file in files) <= 100_000


def test_the_language_is_that_of_the_browser_and_of_the_switch(shown: httpx2.Client) -> None:
    told = {"ru-RU,ru;q=0.9,en;q=0.8": "ru", "de,en;q=0.5,ru;q=0.7": "ru", "fr": "en", "": "en", "x;q=z,ru": "ru"}
    for accepted, language in told.items():
        text = shown.get("/library", headers={**HTML, "Accept-Language": accepted}).text
        assert f'<html lang="{language}">' in text
    switched = shown.get("/library/facts?language=ru", headers={**HTML, "Accept-Language": "en"})
    cookie = switched.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.casefold()
    again = shown.get("/library", headers={**HTML, "Accept-Language": "en", "Cookie": cookie.partition(";")[0]})
    assert '<html lang="ru">' in again.text
    shown.cookies.clear()


def test_all_words_have_their_russian_and_no_other_words_have() -> None:
    said: set[str] = {title for _, _, title in page.PLACES}
    said |= {"everywhere", "facts and notes", "conversations", "experience"}
    for template in TEMPLATES.glob("*.html"):
        for found in re.finditer(r"\b_\(\s*(?:\"([^\"]*)\"|'([^']*)')", template.read_text("utf-8")):
            said.add(found[1] or found[2])
    assert said == set(words.russian())
    for english, russian in words.russian().items():
        assert re.findall(r"\{(\w+)\}", english).sort() == re.findall(r"\{(\w+)\}", russian).sort()
        assert english.endswith(" ") == russian.endswith(" ")
    for term, both in words.names().items():
        assert len(both) == 2, term


@pytest.mark.parametrize(
    ("number", "russian", "english"),
    [(1, "1 факт", "1 fact"), (3, "3 факта", "3 facts"), (11, "11 фактов", "11 facts"), (21, "21 факт", "21 facts"),
     (112, "112 фактов", "112 facts"), (1204, "1\u00a0204 факта", "1,204 facts")],
)  # fmt: skip
def test_numbers_and_their_nouns(number: int, russian: str, english: str) -> None:
    assert words.counted("ru", number, "fact") == russian
    assert words.counted("en", number, "fact") == english


def test_a_page_that_is_not_there_is_a_page(shown: httpx2.Client) -> None:
    for address in ("/library/none", "/library/notes/none", "/library/sessions/zzzz", "/library/facts/zzzzzzzz",
                    "/library/experience/none", "/library/notes/memory/%2e%2e/%2e%2e/letopis.toml"):  # fmt: skip
        answer = shown.get(address)
        assert answer.status_code in (404, 409), address
        assert answer.headers["content-type"].startswith("text/html")
    assert shown.get("/library/static/../page.py").status_code == 404


# --- what others wrote stays text ---------------------------------------------------------------

EVIL = (
    '<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>"\'><a href="javascript:alert(1)">x</a>'
)
MARKDOWN = "[x](javascript:alert(1)) ![y](http://evil.example/z.png) <b onclick=x>b</b> [z](data:text/html,x)"


def poisoned(memory: Memory, folder: Path) -> None:
    """Puts markup into every field that others can write."""
    memory.append(f"k {EVIL}", {"role": "user", "content": f"Мне нужно {EVIL}"})
    memory.append(f"k {EVIL}", {"role": "assistant", "content": EVIL, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": EVIL, "arguments": EVIL}}]})  # fmt: skip
    memory.append(f"k {EVIL}", {"role": "tool", "tool_call_id": "c", "name": EVIL, "content": EVIL})
    memory.append("old", {"role": "user", "content": EVIL})
    memory.close("old")
    memory.drain()
    document = f"# Memory {EVIL}\n\n## {EVIL}\n\n- факт {EVIL}\n"
    (folder / "memory" / "MEMORY.md").write_text(document, "utf-8")
    memory.store.facts.bring_up_to_date()
    (folder / "USER.md").write_text(f"{EVIL}\n{MARKDOWN}", "utf-8")
    (folder / "memory" / "2026-03-01.md").write_text(f"# {EVIL}\n\n{MARKDOWN}\n\n{EVIL}\n", "utf-8")
    (folder / "memory" / f"note {EVIL.replace('/', '_')[:60]}.md").write_text(MARKDOWN, "utf-8")
    add(memory.desk, f"вопрос {EVIL}", f"ответ {EVIL}", f"подборка {EVIL}"[:60])
    memory.review(memory.suggest(f"вопрос {EVIL}").id, "rejected", f"верно {EVIL}", note=EVIL, reviewer=EVIL)
    memory.suggest(f"другой вопрос {EVIL}")


def test_what_others_wrote_stays_text_on_every_page(folder: Path) -> None:
    memory = opener(None)(folder)
    poisoned(memory, folder)
    with memory_server(folder) as url, httpx2.Client(base_url=url, headers=HTML) as client:
        seen = 0
        addresses = {*PAGES, *made_links(client), "/library/notes?month=2026-03", f"/library/search?q={EVIL}"}
        for line in memory.sessions():
            addresses |= {f"/library/sessions/{line.session_id}", f"/library/sessions/{line.session_id}/part/0"}
        for fact in memory.facts():
            addresses.add(f"/library/facts/{fact.id}")
        for address in sorted(addresses):
            answer = client.get(address)
            assert answer.status_code in (200, 409, 422), address
            found = Seen(answer.text)
            assert found.dangerous == [], address
            seen += "&lt;script&gt;" in answer.text
        assert seen >= 8


# --- the profile --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "There is no profile yet"),
        ("Короткий".encode(), "Короткий"),
        (b"plain \xff\xfe", "not UTF-8 at byte 6"),
        (("слово " * 5_000).encode(), "Only the beginning reaches the assistant"),
        (b"x" * ((1 << 20) + 1), "are edited here"),
    ],
)
def test_each_state_of_the_profile_says_what_to_do(folder: Path, data: bytes | None, told: str) -> None:
    path = folder / "USER.md"
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)
    with memory_server(folder) as url:
        assert told in httpx2.get(f"{url}/library/profile", headers=HTML).text
    assert (path.read_bytes() if path.exists() else None) == data


def test_a_profile_that_cannot_be_read_says_so(folder: Path) -> None:
    (folder / "USER.md").unlink()
    (folder / "USER.md").mkdir()
    with memory_server(folder) as url:
        assert "cannot be read" in httpx2.get(f"{url}/library/profile", headers=HTML).text


def test_the_part_that_reaches_the_prompt_is_marked_where_it_ends(folder: Path) -> None:
    lines = [f"строка {n}" for n in range(2_000)]
    (folder / "USER.md").write_text("\n".join(lines), "utf-8")
    with memory_server(folder) as url:
        text = httpx2.get(f"{url}/library/profile", headers=HTML).text
    seen, _, unseen = text.partition('<span class="unseen">')
    prompt = str(opener(None)(folder).context("x").messages[0]["content"])
    last = max(n for n in range(2_000) if f"строка {n}\n" in prompt)
    assert f"строка {last}\n" in seen
    assert f"строка {last + 3}\n" in unseen


def test_an_edit_of_the_profile_changes_the_lines_that_were_edited(folder: Path) -> None:
    path = folder / "USER.md"
    path.write_bytes("\ufeff# Я\r\n\r\nЖиву в Казани\r\nПью чай\n".encode())
    with memory_server(folder) as url:
        before = httpx2.get(f"{url}/api/profile")
        text = before.json()["text"].replace("Казани", "Томске")
        made = httpx2.put(f"{url}/api/profile", json={"text": text}, headers={"If-Match": before.headers["etag"]})
        assert made.status_code == 200
        stale = httpx2.put(f"{url}/api/profile", json={"text": "x"}, headers={"If-Match": before.headers["etag"]})
        assert stale.status_code == 412
    assert path.read_bytes().decode() == "\ufeff# Я\r\n\r\nЖиву в Томске\r\nПью чай\n"
    assert any("Казани" in p.read_text("utf-8") for p in (folder / ".letopis" / "backups").glob("USER-*"))


LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=6), max_size=8
)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


@given(LINES, st.lists(ENDINGS, min_size=9, max_size=9), st.booleans(), st.booleans())
def test_what_was_not_edited_keeps_its_bytes(lines: list[str], endings: list[str], mark: bool, open_end: bool) -> None:
    text = "".join(line + ending for line, ending in zip(lines, endings, strict=False))
    text = ("\ufeff" if mark else "") + (text.rstrip("\r\n") if open_end else text)
    assert edited.applied(text, edited.shown(text)) == text


@given(LINES, LINES)
def test_what_was_edited_is_what_is_there(before: list[str], after: list[str]) -> None:
    wanted = "\n".join(after)
    assert edited.shown(edited.applied("\r\n".join(before), wanted)) == wanted


# --- facts, notes, sessions ---------------------------------------------------------------------


def test_facts_as_they_were_and_where_they_come_from(shown: httpx2.Client) -> None:
    then = shown.get("/library/facts?as_of=2026-04-27").text
    assert "Сборка кухни до 5 июня" in then
    assert "changed later" in then
    assert 'data-send="PUT"' not in then
    facts = shown.get("/api/facts", headers={"Accept": "*/*"}).json()["facts"]
    kitchen = next(fact for fact in facts if "8 июня" in fact["text"])
    own = shown.get(f"/library/facts/{kitchen['id']}").text
    assert "Сборка кухни до 5 июня" in own
    session, _, n = kitchen["sources"][0].partition("#")
    assert f"/library/sessions/{session}?n={n}#m{n}" in own
    assert f'id="m{n}"' in shown.get(f"/library/sessions/{session}?n={n}").text


def test_notes_and_conversations_lead_to_each_other(shown: httpx2.Client) -> None:
    month = Seen(shown.get("/library/notes?month=2026-03").text).links
    note = next(link for link in month if "belaya-kuhnya" in link)
    session = next(link for link in Seen(shown.get(note).text).links if link.startswith("/library/sessions/"))
    assert note in Seen(shown.get(session).text).links
    calendar = shown.get("/library/notes?month=2026-03").text
    assert 'aria-label="2 March: 1 note"' in calendar
    assert shown.get("/library/notes?month=2026-13").status_code == 200
    assert shown.get("/library/notes?month=0000-01").status_code == 200


def test_a_raw_note_says_so_and_is_summarised_again(folder: Path) -> None:
    memory = opener(None)(folder)
    for text in ("Хочу белую кухню", "И недорогую"):
        memory.append("k", {"role": "user", "content": text})
    memory.close("k")
    memory.drain()
    name = memory.sessions()[0].memory_path
    with memory_server(folder) as url:
        told = httpx2.get(f"{url}/library/notes/{name}", headers=HTML).text
    assert "This is a raw record" in told
    assert 'data-url="/api/summaries"' in told


def test_a_long_conversation_is_read_by_parts(folder: Path) -> None:
    memory = opener(None)(folder)
    session = ""
    for n in range(1, 251):
        role = "user" if n % 2 else "assistant"
        session = memory.append("k", {"role": role, "content": f"сообщение {n}"}).session_id
    with memory_server(folder) as url, httpx2.Client(base_url=url, headers=HTML) as client:
        whole = client.get(f"/library/sessions/{session}?n=150").text
        assert 'data-parts="3"' in whole
        assert 'id="m150"' in whole
        assert 'id="m100"' not in whole
        parts = "".join(client.get(f"/library/sessions/{session}/part/{part}").text for part in range(3))
        assert re.findall(r'id="m(\d+)"', parts) == [str(n) for n in range(1, 251)]
        assert "nothing here" in client.get(f"/library/sessions/{session}/part/3").text
        found = client.get(f"/api/sessions/{session}/find", params={"words": "сообщение 77"}).json()
        assert found["messages"][0]["n"] == 77


# --- who is let in ------------------------------------------------------------------------------


@pytest.fixture
def keys(folder: Path) -> Callable[[str], str]:
    return lambda scope: Keys(open_workspace(folder), SystemClock("")).add("page", scope)[1]


def test_a_key_is_asked_for_once_and_stands_in_no_address(folder: Path, keys: Callable[[str], str]) -> None:
    key = keys("admin")
    with memory_server(folder) as url, httpx2.Client(base_url=url, headers=HTML) as client:
        for address in ("/", "/library", "/library/facts?as_of=2026-01-01"):
            sent = client.get(address)
            assert sent.status_code == 303
            assert sent.headers["location"].startswith("/library/enter?next=")
        assert client.get("/api/facts").status_code == 401
        assert client.post("/library/enter", json={"key": "letopis_wrong"}).status_code == 401
        entered = client.post("/library/enter", json={"key": f" {key} "})
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.casefold()
        assert key not in cookie
        assert key not in entered.text
        assert client.get("/library").status_code == 200
        assert client.post("/api/facts", json={"text": "Чай без сахара"}).status_code == 201
        for origin in ("https://evil.example", "http://localhost:3000", "null"):
            refused = client.post("/api/facts", json={"text": "чужое"}, headers={"Origin": origin})
            assert refused.status_code == 403
        assert client.get("/library", headers={"Host": "evil.example"}).status_code == 421
        assert client.post("/api/facts", content=b"text=x", headers={"Content-Type": "text/plain"}).status_code == 415
        assert client.post("/library/leave", json={}).status_code == 200
        assert client.get("/library").status_code == 303
        client.post("/library/enter", json={"key": key})
        assert client.get("/library").status_code == 200
        own = Keys(open_workspace(folder), SystemClock(""))
        own.revoke(own.all()[0].id)
        assert client.get("/library").status_code == 303


def test_a_reader_is_offered_nothing_to_change(folder: Path, keys: Callable[[str], str]) -> None:
    opener(None)(folder).remember("Чай без сахара")
    key = keys("read")
    with memory_server(folder) as url, httpx2.Client(base_url=url, headers=HTML) as client:
        client.post("/library/enter", json={"key": key})
        for address in ("/library/facts", "/library/profile", "/library/chat", "/library/experience"):
            main = client.get(address).text.partition("<main")[2]
            assert "data-send" not in main, address
        assert client.post("/api/facts", json={"text": "нет"}).status_code == 403


def test_after_the_door_only_pages_of_ours_follow(folder: Path, keys: Callable[[str], str]) -> None:
    keys("admin")
    with memory_server(folder) as url:
        for after in ("https://evil.example", "//evil.example", "/api/facts", "javascript:alert(1)", "/librarything"):
            text = httpx2.get(f"{url}/library/enter", params={"next": after}, headers=HTML).text
            assert 'data-then="/library"' in text


# --- versions -----------------------------------------------------------------------------------


def test_a_fact_that_was_changed_meanwhile_is_not_overwritten(folder: Path) -> None:
    memory = opener(None)(folder)
    fact = memory.remember("Чай пью без сахара").fact
    with memory_server(folder) as url:
        shown_version = httpx2.get(f"{url}/api/facts/{fact.id}").headers["etag"]
        memory.replace(fact.id, "Чай пью с мёдом")
        stale = {"If-Match": shown_version}
        assert (
            httpx2.put(f"{url}/api/facts/{fact.id}", json={"text": "Чай с молоком"}, headers=stale).status_code == 412
        )
        assert httpx2.delete(f"{url}/api/facts/{fact.id}", headers=stale).status_code == 412
        now: Any = httpx2.get(f"{url}/api/facts/{fact.id}")
        assert now.json()["text"] == "Чай пью с мёдом"
        gone = httpx2.delete(f"{url}/api/facts/{fact.id}", headers={"If-Match": now.headers["etag"]})
        undone = httpx2.post(f"{url}/api/facts/undo", json={"event": gone.json()["event"]})
        assert json.loads(undone.text)["op"] == "added"
    assert [one.text for one in opener(None)(folder).facts()] == ["Чай пью с мёдом"]


def test_odd_notes_are_shown_at_once() -> None:
    from letopis.server.library.rendering import markdown

    assert "текст" in markdown("<!-- x -->\nтекст <!-- y --> ещё")
    assert len(markdown("<!-- " * 40_000)) > 0


def test_a_large_profile_is_edited_at_once() -> None:
    text = "".join(f"строка {n}\n\n" for n in range(30_000))
    changed = text.replace("строка 15000\n", "другая\n")
    assert edited.applied(text, changed) == changed
    assert edited.applied("a\rb\n\nc\n", "a\n\nc\n").replace("\r\n", "\n").replace("\r", "\n") == "a\n\nc\n"
    assert edited.applied("a\0b\nc\n", "a\ufffdb\nd\n") == "a\0b\nd\n"
