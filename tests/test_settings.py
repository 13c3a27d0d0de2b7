"""Settings: each value and where it comes from; a wrong one names itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import SettingsError
from letopis.settings import load
from letopis.settings.tree import Known, Settings, known


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def loaded(user_file: Path, workspace: Path | None = None, **environ: str):  # type: ignore[no-untyped-def]
    return load(workspace, {"LETOPIS_CONFIG": str(user_file), **environ})


def test_without_any_file_the_defaults_hold(user_file: Path) -> None:
    assert loaded(user_file).settings == Settings()
    assert {o.place for o in loaded(user_file).origins.values()} == {"default"}


def test_each_layer_outranks_the_one_below(user_file: Path, tmp_path: Path) -> None:
    user_file.write_text("context_window_tokens = 4000\n[turn]\nmax_tool_rounds = 1\n[model]\nname = 'm'\n")
    (tmp_path / "letopis.toml").write_text("context_window_tokens = 5000\n[turn]\nmax_tool_rounds = 2\n")
    found = load(
        tmp_path, {"LETOPIS_CONFIG": str(user_file), "LETOPIS_TURN_MAX_TOOL_ROUNDS": "3"}, {"durability": "batch"}
    )
    assert found.settings.model.name == "m"
    assert found.settings.context_window_tokens == 5000
    assert found.settings.turn.max_tool_rounds == 3
    assert found.settings.durability == "batch"
    assert found.origins["context_window_tokens"].place == str(tmp_path / "letopis.toml")
    assert found.origins["turn.max_tool_rounds"].place == "environment LETOPIS_TURN_MAX_TOOL_ROUNDS"


def test_names_of_older_bots_are_understood(user_file: Path) -> None:
    user_file.write_text(
        "contextWindowTokens = 9000\n[tools.vectorMemory]\nmaxFileBytes = 5000\nenabled = false\n"
        "[memory_flush]\nenabled = false\n[sessionMemory]\nenabled = false\n"
    )
    settings = loaded(user_file).settings
    assert settings.context_window_tokens == 9000
    assert settings.vector_memory.max_file_bytes == 5000
    assert not any((settings.vector_memory.enabled, settings.memory_flush.enabled, settings.session_memory.enabled))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("context_window_tokens = 'many'", ["context_window_tokens", "'many'", "whole number", "at least 2000"]),
        ("context_window_tokens = 5", ["5", "at least 2000"]),
        ("context_window_tokens = 5000.5", ["whole number"]),
        ("context_window_tokens = true", ["True"]),
        ("durability = 'never'", ["durability", "'never'", "always, batch"]),
        ("timezone = 'Mars/Base'", ["Mars/Base", "IANA"]),
        ("[session]\nshared_keys = [1]", ["shared_keys", "list of texts"]),
        ("[session_memory]\nenabled = 'perhaps'", ["perhaps", "true or false"]),
        ("contxt_window_tokens = 1", ["contxt_window_tokens", "did you mean context_window_tokens"]),
        ("model = 5", ["there is no setting 'model'"]),
        ("= broken", ["not valid TOML"]),
    ],
)
def test_a_wrong_setting_names_itself_its_place_and_what_is_allowed(
    user_file: Path, text: str, words: list[str]
) -> None:
    user_file.write_text(text)
    with pytest.raises(SettingsError) as error:
        loaded(user_file)
    for word in (*words, str(user_file)):
        assert word in str(error.value)


@pytest.mark.parametrize("line", ["base_url = 'http://evil.example'", "api_key = 'x'", "baseUrl = 'http://x'"])
def test_a_workspace_may_not_say_where_keys_go(user_file: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "letopis.toml").write_text(f"[model]\n{line}\n")
    with pytest.raises(SettingsError, match="a workspace may not set it"):
        loaded(user_file, tmp_path)


def test_a_wrong_key_is_not_shown(user_file: Path) -> None:
    user_file.write_text("[model]\napi_key = 12345678\n")
    with pytest.raises(SettingsError) as error:
        loaded(user_file)
    assert "12345678" not in str(error.value)


def test_the_well_known_key_is_taken_only_for_the_default_endpoint_of_a_named_model(user_file: Path) -> None:
    key = {"OPENAI_API_KEY": "k"}
    assert loaded(user_file, **key).settings.model.api_key == ""
    assert loaded(user_file, LETOPIS_MODEL_NAME="m", **key).settings.model.api_key == "k"
    local = loaded(user_file, LETOPIS_MODEL_NAME="m", LETOPIS_MODEL_BASE_URL="http://localhost/v1", **key)
    assert local.settings.model.api_key == ""


@given(st.sampled_from(list(known())), st.text(max_size=20).filter(lambda t: "\0" not in t))
def test_any_value_of_the_environment_is_taken_or_refused_clearly(item: Known, value: str) -> None:
    try:
        load(None, {"LETOPIS_CONFIG": "/nonexistent/x", item.variable: value})
    except SettingsError as error:
        message = str(error)
    else:
        message = item.name
    assert item.name in message
