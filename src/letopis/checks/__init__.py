"""Finds what is wrong in a workspace, and mends it without losing a byte."""

from letopis.checks.doctor import Finding, examine, repair

__all__ = ["Finding", "examine", "repair"]
