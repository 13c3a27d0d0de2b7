"""Examples of answers in the description of the API (OpenAPI); `examples.json` holds one for each route."""

import json
from collections.abc import Callable
from importlib import resources
from typing import Any

from fastapi import FastAPI


def described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Makes the description of an application, with the examples."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        made = app.openapi_schema is not None
        schema = plain()
        if not made:
            _fill(schema)
        return schema

    return openapi


def _fill(schema: dict[str, Any]) -> None:
    text = resources.files("letopis.server.api").joinpath("examples.json").read_text("utf-8")
    for route, example in json.loads(text).items():
        method, path = route.split(" ")
        answers = schema["paths"][path][method.lower()]["responses"]
        good = next(status for status in answers if status.startswith("2"))
        answers[good]["content"]["application/json"]["example"] = example
