"""The HTTP API: one call of the library a route."""

from letopis.server.api import conversations, experience, knowledge, state

routers = (conversations.router, knowledge.router, experience.router, state.router)
