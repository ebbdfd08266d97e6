"""What has to happen so that one configuration becomes another, and nothing more."""

from dataclasses import dataclass, fields, replace
from typing import Final

from toolcrib.settings import ServerSettings, Settings, Skill

_ELSEWHERE: Final = (
    "gateway",
    "store",
    "limits",
    "approval",
    "exposure",
    "search",
    "dynamic",
    "code",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference of two configurations; servers in the order of the new one."""

    added: tuple[ServerSettings, ...] = ()
    """To be connected: new, or switched on."""
    removed: tuple[str, ...] = ()
    """Ids to be disconnected and withdrawn: gone, or switched off."""
    relaunched: tuple[ServerSettings, ...] = ()
    """To be disconnected and connected anew: another program, address, environment or pooling."""
    retuned: tuple[ServerSettings, ...] = ()
    """To be taken over as they are: the connection stays."""
    elsewhere: tuple[str, ...] = ()
    """What changed beside the servers, such as `gateway.http`; it may take a restart."""
    skills: bool = False
    """Whether skills changed: they are taken over as they are."""

    @property
    def empty(self) -> bool:
        """Whether nothing has to happen."""
        return self == Plan()


def plan(old: Settings, new: Settings) -> Plan:
    """How to get from the old configuration to the new one."""
    before = {server.id: server for server in old.servers if not server.disabled}
    after = {server.id: server for server in new.servers if not server.disabled}
    both = [
        (before[server_id], server) for server_id, server in after.items() if server_id in before
    ]
    return Plan(
        added=tuple(server for server_id, server in after.items() if server_id not in before),
        removed=tuple(server_id for server_id in before if server_id not in after),
        relaunched=tuple(now for was, now in both if _needs_launch(was, now)),
        retuned=tuple(
            now for was, now in both if not _needs_launch(was, now) and _differ(was, now)
        ),
        elsewhere=tuple(_changed_elsewhere(old, new)),
        skills=_skills(old) != _skills(new),
    )


def _needs_launch(was: ServerSettings, now: ServerSettings) -> bool:
    """Whether a live connection of the old kind cannot serve the new settings.

    `stateful` decides who shares a connection, so it cannot change under one; which header of an
    answer is looked at is said when the connection is opened; and whether there is to be one at
    all may depend on callers from now on, or no longer (`on_demand`).
    """
    return _tied(was) != _tied(now)


def _tied(server: ServerSettings) -> tuple[object, ...]:
    return server.launch, server.stateful, server.on_demand, _header(server)


def _header(server: ServerSettings) -> str:
    return server.version_from if server.version_from.startswith("header:") else ""


def _differ(was: ServerSettings, now: ServerSettings) -> bool:
    """Whether anything but the line in the file differs."""
    return replace(was, source="") != replace(now, source="")


def _changed_elsewhere(old: Settings, new: Settings) -> list[str]:
    changed: list[str] = []
    for name in _ELSEWHERE:
        was, now = getattr(old, name), getattr(new, name)
        changed += [
            f"{name}.{f.name}" for f in fields(was) if getattr(was, f.name) != getattr(now, f.name)
        ]
    return changed


def _skills(settings: Settings) -> list[Skill]:
    return [replace(skill, source="") for skill in settings.skills]
