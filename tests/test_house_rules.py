"""Conventions that matter, as tests."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_files_and_functions_fit_a_screen(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{path}: {node.name}"


@pytest.mark.parametrize("path", sorted((ROOT / "src/letopis/model").glob("*.py")), ids=lambda p: p.name)
def test_the_model_is_pure(path: Path) -> None:
    imports = {
        (alias.name if isinstance(node, ast.Import) else node.module or "").split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imports.isdisjoint({"os", "pathlib", "time", "socket", "subprocess", "threading", "sqlite3", "random"})
    assert "now()" not in path.read_text("utf-8")


def test_nothing_but_the_store_and_the_index_writes_files() -> None:
    writing = re.compile(r"\.write_text|\.write_bytes|open\([^)]*['\"][wax]|os\.(?:write|replace|rename|unlink)")
    for path in SOURCES:
        if path.parent.name not in ("store", "index"):
            assert not writing.search(path.read_text("utf-8")), path


def test_prompts_name_no_language() -> None:
    names = re.compile(r"(?i)\b(english|russian|chinese|japanese|german|русск|англий)")
    prompts = sorted((ROOT / "src").rglob("prompts/*.md"))
    assert prompts
    for path in prompts:
        assert not names.search(path.read_text("utf-8")), path


def test_importing_the_package_is_light_and_opens_no_socket() -> None:
    code = (
        "import sys, socket\n"
        "socket.socket = None\n"
        "import letopis, threading\n"
        "from letopis import open_memory\n"
        "heavy = [m for m in ('openai', 'numpy', 'prompt_toolkit', 'httpx2') if m in sys.modules]\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["README.md", "README.ru.md"])
def test_the_examples_of_the_readme_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from letopis.store.init import init

    monkeypatch.chdir(tmp_path)
    init(tmp_path / "my-assistant")
    blocks = re.findall(r"<!-- runnable -->\n```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})


def test_links_of_the_documentation_resolve() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_the_project_speaks_of_itself_alone() -> None:
    elsewhere = re.compile(r"/work/|/root/|(?<!server)\.library|issue \d")
    for path in [*SOURCES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert not elsewhere.search(path.read_text("utf-8")), path


def test_every_error_is_raised_and_stands_in_the_tree() -> None:
    from letopis import errors

    text = "\n".join(p.read_text("utf-8") for p in SOURCES if p.name != "errors.py")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.LetopisError):
            assert name in (errors.__doc__ or ""), f"{name} is not in the tree"
            assert name in text, f"{name} is never used"
