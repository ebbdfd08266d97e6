"""The whole configuration of one crib."""

from dataclasses import dataclass, replace

from toolcrib.settings.approval import ApprovalSettings
from toolcrib.settings.code import CodeSettings
from toolcrib.settings.discovery import DynamicSettings, ExposureSettings, SearchSettings, Skill
from toolcrib.settings.gateway import GatewaySettings
from toolcrib.settings.limits import Limits
from toolcrib.settings.server import ServerSettings


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where snapshots are kept."""

    path: str | None = None
    """The SQLite file; None: in memory only."""
    vault: str | None = None
    """The folder of encrypted logins; None: in memory only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration of one crib."""

    servers: tuple[ServerSettings, ...] = ()
    limits: Limits = Limits()
    gateway: GatewaySettings = GatewaySettings()
    store: StoreSettings = StoreSettings()
    approval: ApprovalSettings = ApprovalSettings()
    exposure: ExposureSettings = ExposureSettings()
    search: SearchSettings = SearchSettings()
    dynamic: DynamicSettings = DynamicSettings()
    skills: tuple[Skill, ...] = ()
    code: CodeSettings = CodeSettings()

    def with_servers_of(self, other: "Settings") -> "Settings":
        """These settings with the servers and skills of others, which an open crib takes over."""
        return replace(self, servers=other.servers, skills=other.skills)

    def __post_init__(self) -> None:
        ids = [server.id for server in self.servers]
        if len(set(ids)) != len(ids):
            raise ValueError("server ids must be unique")
