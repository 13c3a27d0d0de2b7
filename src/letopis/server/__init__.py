"""The edges that other programs speak to: MCP, the HTTP API and the OpenAI-compatible proxy.

The only part that is async; it crosses over to the synchronous core in `crossing.py` alone.
"""
