"""The library in a real browser: every page, in both languages and widths, and the story of a fact."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from letopis.memory import Memory
from letopis.settings import SystemClock
from letopis.store.init import init
from letopis.store.keys import Keys
from letopis.store.workspace import open_workspace
from tests import showcase
from tests.programs import CHROMIUM_ARGUMENTS, CLIENTS, chromium
from tests.screenshots import FIRST, PAGES, WIDTHS
from tests.serving import memory_server, opener

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow, pytest.mark.xdist_group("browser")]
AXE = CLIENTS / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium(), args=list(CHROMIUM_ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def showcase_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return showcase.made(tmp_path_factory.mktemp("browser") / "w")


class Told:
    """What a page complained of."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))


def opened(browser: Browser, url: str, **options: Any) -> tuple[Page, Told]:
    context = browser.new_context(base_url=url, **options)
    context.set_default_timeout(15_000)
    page = context.new_page()
    return page, Told(page)


def settled(page: Page) -> None:
    expect(page.locator("[aria-busy]")).to_have_count(0)


# --- every page ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_whole_and_open_to_everybody(
    browser: Browser, showcase_folder: Path, language: str, width: str, scheme: Any
) -> None:
    if not AXE.is_file():
        pytest.skip("NOT TESTED: this needs `npm install --prefix tests/clients`; `make test` does it")
    x, y = WIDTHS[width]
    with showcase.shown(showcase_folder, showcase.LATER) as url:
        page, told = opened(browser, url, locale=language, color_scheme=scheme, viewport={"width": x, "height": y})
        for address in [*PAGES.values(), *own_pages(page)]:
            page.goto(address)
            settled(page)
            wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, f"{address} is {wider} pixels wider than the window"
            assert page.evaluate("document.documentElement.lang") == language
            page.evaluate(AXE.read_text("utf-8"))
            found = page.evaluate("levels => axe.run(document, {runOnly: levels})", LEVELS)
            wrong = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found["violations"]]
            assert wrong == [], f"{address}: {wrong}"
        assert told.errors == []
        page.context.close()


def own_pages(page: Page) -> list[str]:
    found = []
    for listed, link in FIRST.values():
        page.goto(listed)
        found.append(str(page.locator(link).first.get_attribute("href")))
    return found


# --- the story of a fact ------------------------------------------------------------------------


def test_a_fact_from_the_chat_is_traced_corrected_and_brought_back(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    with showcase.shown(folder) as url:
        page, told = opened(browser, url, locale="ru")
        page.goto("/library/chat")
        page.get_by_label("Что вы хотите сказать?").fill("Запомни, что чай я пью без сахара")
        page.get_by_role("button", name="Отправить").click()
        expect(page.locator(".bubble.assistant")).to_contain_text("Запомнил: Чай я пью без сахара")
        page.get_by_label("Что вы хотите сказать?").fill("Какой чай я пью?")
        page.keyboard.press("Enter")
        expect(page.locator("#steps")).to_contain_text("поискал в памяти")
        expect(page.locator(".bubble.assistant").last).to_contain_text("без сахара")

        page.get_by_role("link", name="Факты").click()
        fact = page.locator(".fact").filter(has_text="Чай я пью без сахара")
        fact.get_by_role("link", name="источник").click()
        expect(page.locator("article:target")).to_contain_text("Запомни, что чай я пью без сахара")
        expect(page.locator("article:target aside")).to_contain_text("Чай я пью без сахара")

        page.goto("/library/facts")
        page.get_by_role("button", name="Изменить: Чай я пью без сахара").click()
        page.get_by_label("Как верно").fill("Чай я пью с мёдом")
        page.get_by_role("button", name="Сохранить").click()
        expect(page.locator(".fact")).to_contain_text("Чай я пью с мёдом")
        assert "Чай я пью с мёдом" in prompt(folder)
        page.goto("/library/context?key=web:chat")
        page.locator("summary").nth(1).click()
        expect(page.locator("main")).to_contain_text("Чай я пью с мёдом")

        page.goto("/library/facts")
        page.get_by_role("link", name="история").click()
        expect(page.locator("del")).to_contain_text("Чай я пью без сахара")
        page.get_by_role("button", name="Отменить это изменение").click()
        expect(page.get_by_role("status").filter(has_text="Отменено.")).to_be_visible()
        assert "Чай я пью без сахара" in prompt(folder)
        assert told.errors == []


def prompt(folder: Path) -> str:
    return str(opener(None)(folder).context("web:chat").messages[0]["content"])


def test_a_removed_fact_comes_back_at_once(browser: Browser, showcase_folder: Path, tmp_path: Path) -> None:
    folder = showcase.copied(showcase_folder, tmp_path / "w")
    with showcase.shown(folder) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library/facts")
        page.get_by_role("button", name="Remove: Кошку зовут Муся").click()
        expect(page.locator("main")).not_to_contain_text("Муся")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("main")).to_contain_text("Кошку зовут Муся")


def test_a_change_made_elsewhere_is_shown_and_put_together_by_the_person(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    (folder / "USER.md").write_text("Живу в Казани\n", "utf-8")
    with memory_server(folder) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library/profile")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("The text (Markdown)").fill("Живу в Томске\n")
        (folder / "USER.md").write_text("Живу в Казани\nЛюблю чай\n", "utf-8")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("Люблю чай")
        assert (folder / "USER.md").read_text("utf-8") == "Живу в Казани\nЛюблю чай\n"
        expect(page.get_by_label("The text (Markdown)")).to_have_value("Живу в Томске\n")
        page.get_by_label("The text (Markdown)").fill("Живу в Томске\nЛюблю чай\n")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    assert (folder / "USER.md").read_text("utf-8") == "Живу в Томске\nЛюблю чай\n"


# --- reading, reviewing, asking -----------------------------------------------------------------


def test_a_hundred_thousand_messages_are_read_by_parts(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    memory = opener(None, durability="batch")(folder)
    session = memory.append("k", {"role": "user", "content": "сообщение 1"}).session_id
    path = next((folder / "sessions").glob("*.jsonl"))
    with path.open("a", encoding="utf-8") as file:
        for n in range(2, 100_001):
            role = "assistant" if n % 2 == 0 else "user"
            file.write(
                f'{{"role": "{role}", "content": "сообщение {n}", "n": {n}, "timestamp": "2026-03-01T10:00:00"}}\n'
            )
    with memory_server(folder) as url:
        page, told = opened(browser, url, locale="en")
        page.context.set_default_timeout(60_000)
        page.goto(f"/library/sessions/{session}?n=50000#m50000")
        expect(page.locator("#m50000")).to_be_in_viewport(timeout=60_000)
        page.get_by_label("Go to message").fill("99990")
        page.get_by_label("Go to message").press("Enter")
        expect(page.locator("#m99990")).to_be_in_viewport()
        assert page.locator(".message").count() <= 100 * 20
        page.evaluate("window.scrollTo(0, 0)")
        expect(page.locator("#m1")).to_be_visible()
        assert page.locator(".message").count() <= 100 * 20
        assert told.errors == []


def test_words_are_found_in_a_conversation(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    memory = opener(None)(folder)
    for n in range(1, 301):
        session = memory.append("k", {"role": "user" if n % 2 else "assistant", "content": f"сообщение {n}"}).session_id
    with memory_server(folder) as url:
        page, told = opened(browser, url, locale="en")
        page.goto(f"/library/sessions/{session}")
        page.get_by_label("Find in this conversation").fill("сообщение 277")
        page.get_by_role("button", name="Find").click()
        page.locator("#found a").first.click()
        expect(page.locator("#m277")).to_be_in_viewport()
        page.get_by_label("Find in this conversation").fill("верблюд")
        page.get_by_role("button", name="Find").click()
        expect(page.locator("#found")).to_contain_text("Nobody said this here.")
        assert told.errors == []


def test_the_queue_is_worked_through_by_keyboard(browser: Browser, showcase_folder: Path, tmp_path: Path) -> None:
    folder = showcase.copied(showcase_folder, tmp_path / "w")
    memory = opener(None)(folder)
    first = memory.suggest("Как вернуть куртку без чека?")
    with showcase.shown(folder) as url:
        page, told = opened(browser, url, locale="ru")
        page.goto("/library/experience/review")
        cards = page.locator(".suggestion")
        before = cards.count()
        page.keyboard.press("End")
        page.locator(f'[data-id="{first.id}"]').focus()
        page.keyboard.press("KeyA")
        expect(cards).to_have_count(before - 1)
        page.keyboard.press("KeyE")
        box = page.locator(".suggestion textarea").first
        expect(box).to_be_focused()
        box.fill("Пальто возвращают с биркой.")
        page.get_by_role("button", name="Сохранить").click()
        expect(cards).to_have_count(before - 2)
        assert told.errors == []
    with opener(None)(folder).store.experience.reading() as bank:
        assert bank.suggested[first.id].outcome == "approved"
        assert any(case.answer == "Пальто возвращают с биркой." for case in bank.cases.values())


def test_search_finds_marks_and_says_why(browser: Browser, showcase_folder: Path) -> None:
    with showcase.shown(showcase_folder, showcase.LATER) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library")
        page.get_by_label("Search everything").fill("белой кухни")
        page.keyboard.press("Enter")
        expect(page.locator("mark").first).to_have_text(re.compile("бел|кухн", re.IGNORECASE))
        page.locator("summary", has_text="why this").first.click()
        expect(page.locator("main")).to_contain_text("the same words")
        page.get_by_label("Where").select_option("transcripts")
        page.get_by_role("button", name="Find").click()
        page.get_by_role("link", name=re.compile("^Open: ")).first.click()
        expect(page.locator("article:target")).to_be_visible()


def test_the_past_is_seen_by_the_slider(browser: Browser, showcase_folder: Path) -> None:
    with showcase.shown(showcase_folder, showcase.LATER) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library/facts")
        expect(page.locator("main")).to_contain_text("Сборка кухни до 8 июня")
        page.get_by_label("As it was on").press("Home")
        page.get_by_label("As it was on").dispatch_event("change")
        expect(page.get_by_role("link", name="Back to now")).to_be_visible()
        expect(page.locator("main")).not_to_contain_text("Vegetarian")


def test_deleting_names_what_goes_and_can_be_refused(browser: Browser, showcase_folder: Path, tmp_path: Path) -> None:
    folder = showcase.copied(showcase_folder, tmp_path / "w")
    with showcase.shown(folder) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library/sessions?q=planner")
        page.locator("a.title").first.click()
        page.get_by_role("button", name="Delete").click()
        box = page.get_by_role("dialog")
        expect(box).to_contain_text("sessions/archive/")
        box.get_by_role("button", name="No, leave it").click()
        assert len(list((folder / "sessions" / "archive").glob("*lisbon*"))) == 1
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Yes, do it").click()
        expect(page).to_have_url(re.compile("/library/sessions$"))
        assert list((folder / "sessions" / "archive").glob("*lisbon*")) == []


def test_damage_is_shown_and_mended(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    memory: Memory = opener(None)(folder)
    memory.append("k", {"role": "user", "content": "Привет"})
    path = next((folder / "sessions").glob("*.jsonl"))
    path.write_bytes(path.read_bytes() + b"{broken\n")
    with memory_server(folder) as url:
        page, _ = opened(browser, url, locale="en")
        page.goto("/library")
        page.get_by_role("link", name="Something is wrong with files: 1").click()
        page.get_by_role("button", name="Mend what can be mended").click()
        page.get_by_role("dialog").get_by_role("button", name="Yes, do it").click()
        expect(page.locator("main")).to_contain_text("All files are in order.")
    assert b"broken" not in path.read_bytes()


def test_a_key_opens_the_page_once(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    key = Keys(open_workspace(folder), SystemClock("")).add("page", "admin")[1]
    with memory_server(folder) as url:
        page, _ = opened(browser, url, locale="ru")
        page.goto("/library/facts")
        page.get_by_label("Ключ").fill("letopis_wrong")
        page.get_by_role("button", name="Открыть").click()
        expect(page.get_by_role("status")).to_contain_text("Не получилось")
        page.get_by_label("Ключ").fill(key)
        page.get_by_role("button", name="Открыть").click()
        expect(page).to_have_url(f"{url}/library/facts")
        assert key not in page.content()
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Выйти").click()
        expect(page.get_by_label("Ключ")).to_be_visible()


def test_new_begins_a_new_conversation(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    init(folder)
    with showcase.shown(folder) as url:
        page, told = opened(browser, url, locale="en")
        page.goto("/library/chat")
        say = page.get_by_label("What do you want to say?")
        for text in ("Hello", "/new", "Hello again"):
            say.fill(text)
            say.press("Enter")
            if text != "/new":
                expect(page.locator(".bubble.assistant").last).to_contain_text("Хорошо")
                expect(page.get_by_role("button", name="Send")).to_be_enabled()
            else:
                expect(page.locator(".bubble")).to_have_count(0)
        assert told.errors == []
    assert len(opener(None)(folder).sessions()) == 2
