"""The HTTP API: one call of the library a route."""

from letopis.server.api import conversations, experience, facts, knowledge, profile, state, talk, upkeep

routers = tuple(part.router for part in (conversations, talk, knowledge, facts, profile, experience, upkeep, state))
