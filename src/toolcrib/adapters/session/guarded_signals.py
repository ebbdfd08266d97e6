"""The signals of whoever owns a connection, so that none of their faults can end it."""

from collections.abc import Callable, Mapping
from typing import Any

from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import Ask, Observer, Signals

_INTERNAL_ERROR = -32603


async def answered(
    ask: Ask, method: str, params: Mapping[str, Any], report: Callable[[Exception, str], None]
) -> dict[str, Any]:
    """What somebody answers to a request of the server; a failure is raised as `UpstreamRefused`.

    Only a refusal's own words reach the server: the text of another error may hold anything.
    """
    try:
        return await ask(method, params)
    except UpstreamRefused:
        raise
    except Exception as error:  # noqa: BLE001 - whoever answers must not end the connection
        if not isinstance(error, ToolcribError):
            report(error, method)
        raise UpstreamRefused(
            "the request could not be answered", rpc_code=_INTERNAL_ERROR
        ) from None


class GuardedSignals:
    """Implements `Signals` by passing everything on; what a listener raises becomes a finding.

    The receive loop calls these methods: an exception that got through would end the connection
    and with it every request under way.
    """

    def __init__(self, signals: Signals, server: str, observer: Observer) -> None:
        self._signals = signals
        self._server = server
        self._observer = observer
        self._reported = False

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification on."""
        try:
            self._signals.notified(method, params)
        except Exception as error:  # noqa: BLE001 - see the class
            self._report(error, method)

    def stream_opened(self) -> None:
        """Pass on that signals flow."""
        self._tell(self._signals.stream_opened, "stream_opened")

    def stream_lost(self) -> None:
        """Pass on that signals were lost."""
        self._tell(self._signals.stream_lost, "stream_lost")

    def stream_refused(self) -> None:
        """Pass on that there are no signals."""
        self._tell(self._signals.stream_refused, "stream_refused")

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Pass a request of the server on; whatever goes wrong is raised as `UpstreamRefused`."""
        return await answered(self._signals.requested, method, params, self._report)

    def _tell(self, say: Callable[[], None], what: str) -> None:
        try:
            say()
        except Exception as error:  # noqa: BLE001 - see the class
            self._report(error, what)

    def _report(self, error: Exception, where: str) -> None:
        """Report the first fault only: a broken listener fails at each notification."""
        if not self._reported:
            self._reported = True
            detail = f"{type(error).__name__} at {where}"
            self._observer.note(Finding(self._server, "listener_failed", detail))
