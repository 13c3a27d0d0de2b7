"""Programs that a test runs beside the product: Node with the packages of `tests/clients`, and Chromium."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent / "clients"


def node(*arguments: str, home: Path) -> str:
    """What a Node program writes; the test is skipped where there is no Node or no package."""
    found = shutil.which("node")
    if found is None or not (CLIENTS / "node_modules" / "openai").is_dir():
        pytest.skip("NOT TESTED: this needs Node.js and `npm install --prefix tests/clients`; `make test` does both")
    ran = subprocess.run(
        [found, *arguments], cwd=CLIENTS, capture_output=True, text=True, timeout=90, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr or ran.stdout
    return ran.stdout


CHROMIUM_ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


def chromium() -> str:
    """The browser; tests that need one are skipped where none can be had."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip(
            "NOT TESTED: this needs Chromium; `make test` installs it where it may (Debian: apt install chromium)"
        )
    return found
