"""Every error that Letopis raises on purpose.

LetopisError
├── SettingsError          a setting is wrong; names it, its place and what is allowed
├── WorkspaceError         a folder is missing or cannot serve as a workspace
│   └── OutsideWorkspace   a name, key or link leads out of the workspace
├── StoreError
│   ├── InvalidInput       the caller's message, key or name cannot be stored as it is
│   ├── SessionNotFound    no session has this id or key
│   ├── SessionArchived    a late write to a session that no longer changes
│   ├── Busy               somebody else holds the lock; the same call may succeed later
│   ├── Unreadable         a file is there but cannot be read; never treated as empty
│   └── WriteFailed        the disk refused a write; what stood before still stands
├── SearchError
│   ├── IndexBusy          the index is in use; the same call may succeed later
│   └── IndexDamaged       the index cannot be read; it is made anew from the files
├── FactChanged            a fact is not as the caller saw it
├── FactRefused            a change of the facts that a guard does not allow
│   └── NoSingleMatch      words meant for one fact fit none or several
├── ModelError
│   ├── KeyRefused         the endpoint refused the API key
│   ├── RequestRefused     the endpoint refused this form of request
│   ├── Unavailable        busy, down, too slow or unreachable; may succeed later
│   └── AnswerUnusable     an answer came, but it cannot be used
└── SourceUnreadable       a file to import cannot be understood at all

A message says what happened, to which thing, and what to do next. Nothing in the
code decides by the text of an error.
"""

from collections.abc import Sequence


class LetopisError(Exception):
    """Base of all errors of this package."""


class SettingsError(LetopisError):
    """A setting is wrong."""


class WorkspaceError(LetopisError):
    """A folder cannot serve as a workspace."""


class OutsideWorkspace(WorkspaceError):
    """A path leads out of the workspace."""


class StoreError(LetopisError):
    """The files of a workspace could not be used as asked."""


class InvalidInput(StoreError):
    """The caller's value cannot be stored."""


class SessionNotFound(StoreError):
    """No such session."""


class SessionArchived(StoreError):
    """The session is archived and does not change any more."""


class Busy(StoreError):
    """A lock is held by somebody else."""


class Unreadable(StoreError):
    """A file exists but cannot be read or decoded."""


class WriteFailed(StoreError):
    """A write did not happen; nothing that stood before is lost."""


class SearchError(LetopisError):
    """The index could not be used; the files are untouched."""


class IndexBusy(SearchError):
    """The index is in use by somebody else."""


class IndexDamaged(SearchError):
    """The index cannot be read."""


class FactChanged(LetopisError):
    """The fact is not as it was seen; nothing was changed."""


class FactRefused(LetopisError):
    """A guard refused a change of the facts."""


class NoSingleMatch(FactRefused):
    """None or several facts fit; `candidates` are the texts that came close."""

    def __init__(self, message: str, candidates: Sequence[str]) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class ModelError(LetopisError):
    """The language model gave nothing usable. `upstream`: the HTTP status and body that the endpoint sent, if any."""

    upstream: tuple[int, object] | None = None


class KeyRefused(ModelError):
    """The API key was refused."""


class RequestRefused(ModelError):
    """The endpoint does not accept this form of request."""


class Unavailable(ModelError):
    """The endpoint is busy, down or unreachable."""


class AnswerUnusable(ModelError):
    """The answer is cut, empty, not JSON, an error page, or breaks its schema."""


class SourceUnreadable(LetopisError):
    """A file to import is not of a known form."""
