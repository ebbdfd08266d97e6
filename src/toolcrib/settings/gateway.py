"""How the crib shows itself to hosts."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.protocol.trust import IconPolicy
from toolcrib.settings.discovery import Exposure

Relayed = Literal["elicitation", "sampling", "roots", "logging"]

NameStyle = Literal["qualified", "plain"]


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """How the crib shows itself to hosts."""

    names: NameStyle = "qualified"
    """`qualified`: `server__tool`; `plain`: the names of the servers themselves."""
    exposure: Exposure = "auto"
    """What the model sees at the start; `[exposure]` says when `auto` shows what."""
    http: tuple[str, int] | None = None
    """Where HTTP is served; without it, standard streams are."""
    allowed_hosts: tuple[str, ...] = ()
    """Further `Host` values that are accepted, such as `crib.example.com:443`."""
    allowed_origins: tuple[str, ...] = ()
    """Further `Origin` values that are accepted, such as `https://app.example.com`."""
    relay: tuple[Relayed, ...] = ("elicitation", "logging")
    """What servers may ask hosts for, or tell them, through us; sampling and roots only where they
    are named here."""
    trace: bool = True
    """Whether the trace context of a host's request (`traceparent` and `tracestate`) goes on to
    the server."""
    icons: IconPolicy = "drop"
    """What becomes of the icons of servers: `drop` leaves them out; `data` keeps small PNG and JPEG
    images that are there as a whole; `pass` keeps all, whose addresses then hosts may fetch."""
