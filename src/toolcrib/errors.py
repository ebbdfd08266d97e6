"""Every error toolcrib raises, sorted by who must act on it.

Expected outcomes inside `core` are values; exceptions begin where work meets the world. Each error
has a stable `code` (the wire codes of a refusal), a text for the model and a text for whoever
operates the crib.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class ToolcribError(Exception):
    """The root: catch this to catch everything toolcrib raises on purpose."""

    code: ClassVar[str] = "toolcrib_error"

    def __init__(
        self,
        message: str,
        *,
        server: str | None = None,
        remedy: str | None = None,
        details: Mapping[str, Any] | None = None,
        operator_note: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.server = server
        """The configured server id the error is about, if it is about one."""
        self.remedy = remedy
        """What to do about it, in one sentence."""
        self.details: Mapping[str, Any] = details or {}
        self.operator_note = operator_note
        """What only the operator may read, such as the last line of a server's stderr."""

    def for_model(self) -> str:
        """The text a model may see: what happened and what it can do; never an internal."""
        return self.message

    def for_operator(self) -> str:
        """The text for a log or a terminal: which server, what happened, the remedy."""
        where = f"{self.server}: " if self.server else ""
        note = f"; {self.operator_note}" if self.operator_note else ""
        what_now = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{note}{what_now}"


class ModelMustAdapt(ToolcribError):
    """The model asked for something that is not so: it can correct itself."""


class ToolGone(ModelMustAdapt):
    """The tool is not in the newest published catalog."""

    code = "tool_gone"


class SchemaChanged(ModelMustAdapt):
    """The tool's contract changed since the caller saw it: nothing was sent.

    `details` holds `changes` (sentences) and `inputSchema`, the one that holds now.
    """

    code = "schema_changed"


class BadArguments(ModelMustAdapt):
    """The arguments do not fit the tool's input schema."""

    code = "bad_arguments"


class RetryRefused(ModelMustAdapt):
    """A request brought back a state or answers that are not good for it (JSON-RPC: -32602).

    The state is foreign, changed, expired, used up, or of another request; or an answer does not
    fit its question.
    """

    code = "bad_arguments"


class ScriptFailed(ModelMustAdapt):
    """A program ended in an error, or was not run for what its check found.

    `details` holds `why`, `executed`, and `calls`: those that it made, with their outcome.
    """

    code = "script_failed"


class PersonMustDecide(ToolcribError):
    """Nothing is wrong; a person has to say yes or no first."""


class ConfirmationNeeded(PersonMustDecide):
    """Policy asks a person before this call."""

    code = "needs_confirmation"


class CallHeld(PersonMustDecide):
    """The question that this call would raise is being asked already, for another call.

    Nothing was sent; made again once that question is answered, the call goes by the answer.
    """

    code = "needs_confirmation"


class CapabilityMissing(ToolcribError):
    """The server has to ask something that this host cannot be asked (MCP: -32021).

    `details["requiredCapabilities"]` names what is missing, as `ClientCapabilities`.
    """

    code = "not_allowed"


class NotAllowed(ToolcribError):
    """Policy, or the server, does not let this caller do this."""

    code = "not_allowed"


class OperatorMustFix(ToolcribError):
    """Something outside the model's reach is broken or misconfigured."""


class UpstreamUnreachable(OperatorMustFix):
    """The server cannot be reached, died, or hung up."""

    code = "server_unavailable"


class RequestTimedOut(OperatorMustFix):
    """The server did not answer a request in time; it may still have acted on it."""

    code = "timeout"


class RefreshFailed(OperatorMustFix):
    """The catalog could not be brought up to date and nothing usable is held."""

    code = "refresh_failed"


class ChangedSilently(OperatorMustFix):
    """The server refused what its newest listing says, and had not told of any change."""

    code = "changed_silently"


class CatalogTooOld(OperatorMustFix):
    """The last good catalog is older than `max_stale`: calls made from it are refused."""

    code = "catalog_too_old"


class AuthRequired(OperatorMustFix):
    """The server wants credentials, others, or more of them (HTTP 401 or 403)."""

    code = "auth_required"


class RateLimited(OperatorMustFix):
    """The server, or a limit of ours, asks to slow down (HTTP 429)."""

    code = "rate_limited"


class StoreUnreachable(OperatorMustFix):
    """The snapshot store cannot be used; toolcrib goes on in memory."""

    code = "store_unreachable"


class IncompatibleServer(OperatorMustFix):
    """The peer speaks no protocol revision that we speak, or breaks the one it claims."""

    code = "server_unavailable"


class ResultInvalid(OperatorMustFix):
    """The server's result is broken: no JSON, or not in the shape of its method."""

    code = "result_invalid"


class LimitExceeded(OperatorMustFix):
    """A documented limit was reached; the message names it and its setting."""

    code = "limit_exceeded"


class TooBusy(LimitExceeded):
    """A limit on what goes on at a time was reached: the same request may pass a while later."""


class SandboxUnavailable(OperatorMustFix):
    """Programs cannot run here; says why, and what makes it possible."""

    code = "sandbox_unavailable"


class SnapshotRefused(ToolcribError):
    """A program that waited cannot go on from where it was: another version, or broken bytes."""

    code = "script_failed"


class ConfigError(OperatorMustFix):
    """A configuration file or entry cannot be used; names file, line and remedy."""

    code = "config_error"


class UpstreamRefused(ToolcribError):
    """The server answered with a JSON-RPC error: `rpc_code`, its message and data, as received."""

    code = "server_error"

    def __init__(
        self,
        message: str,
        *,
        rpc_code: int,
        data: object = None,
        server: str | None = None,
        http_status: int | None = None,
        challenge: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, server=server)
        self.rpc_code = rpc_code
        self.data = data
        self.http_status = http_status
        """The HTTP status that carried the error, where there was one."""
        self.challenge = challenge
        """The `WWW-Authenticate` header, as received."""
        self.retry_after = retry_after
        """Seconds from `Retry-After`, if the server sent one."""


class ToolcribBug(ToolcribError):
    """toolcrib contradicted itself: please report it."""

    code = "toolcrib_bug"
