"""Pictures of every page, light and dark: `python -m tests.screenshots [FOLDER]` (`make screenshots`)."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests import showcase
from tests.programs import CHROMIUM_ARGUMENTS, chromium

PAGES = {
    "overview": "/library", "chat": "/library/chat", "search": "/library/search?q=кухня", "facts": "/library/facts",
    "facts-then": "/library/facts?as_of=2026-03-20", "profile": "/library/profile", "sessions": "/library/sessions",
    "notes": "/library/notes?month=2026-03", "experience": "/library/experience",
    "review": "/library/experience/review",
    "lessons": "/library/experience/lessons", "context": "/library/context", "health": "/library/health",
    "enter": "/library/enter",
}  # fmt: skip
FIRST = {"fact": ("/library/facts", "a[href^='/library/facts/']"),
         "session": ("/library/sessions?q=telegram", "a.title"),
         "note": ("/library/notes?month=2026-03", "a.title"),
         "case": ("/library/experience", "section a.title")}  # fmt: skip
WIDTHS = {"wide": (1280, 860), "phone": (390, 844)}


def main() -> int:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = showcase.made(Path(name) / "w")
        browser = play.chromium.launch(executable_path=chromium(), args=list(CHROMIUM_ARGUMENTS))
        with showcase.shown(folder, showcase.LATER) as url:
            for scheme in ("light", "dark"):
                for width, (x, y) in WIDTHS.items():
                    for language in ("ru", "en"):
                        context = browser.new_context(
                            base_url=url, color_scheme=scheme, locale=language, viewport={"width": x, "height": y}
                        )  # type: ignore[arg-type]
                        _take(context.new_page(), target, f"{scheme}-{width}-{language}")
                        context.close()
        browser.close()
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")
    return 0


def _take(page: Page, target: Path, suffix: str) -> None:
    places = dict(PAGES)
    for name, (listed, link) in FIRST.items():
        page.goto(listed)
        places[name] = str(page.locator(link).first.get_attribute("href"))
    for name, address in places.items():
        page.goto(address)
        expect(page.locator("[aria-busy]")).to_have_count(0)
        page.screenshot(path=target / f"{name}-{suffix}.png", full_page=True, animations="disabled")


if __name__ == "__main__":
    sys.exit(main())
