"""How programs of models run, and within which bounds (DESIGN section 8)."""

from dataclasses import dataclass
from typing import Literal

Language = Literal["python", "typescript"]
FlowVerdict = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class FlowRule:
    """Whether results of one server may go into calls of another."""

    source: str
    """Ids of servers that answered, as a shell pattern."""
    target: str
    """The same of the server that is called."""
    verdict: FlowVerdict
    """What holds where both fit."""
    name: str = ""
    """Where the rule stands, for a person."""


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """How programs run, and every bound of them. Each error names its setting."""

    languages: tuple[Language, ...] = ("python",)
    """In what programs may be written, the default first; `typescript` takes
    `toolcrib[typescript]`, and bubblewrap."""
    type_check: bool = True
    """Whether types are checked before a program runs."""
    flows: tuple[FlowRule, ...] = ()
    """The first one that fits decides; where none does, results may go anywhere."""
    interpreter_seconds: float = 5.0
    """Seconds that a program may compute, without what it waits."""
    turn_seconds: float = 2.0
    """Seconds that it may compute between two calls."""
    check_seconds: float = 2.0
    """Seconds that the check of its types may take."""
    wall_seconds: float = 60.0
    """Seconds from its start to its end, without waiting for a person."""
    memory_bytes: int = 64 * 1024 * 1024
    """Its heap."""
    resident_bytes: int = 300 * 1024 * 1024
    """Resident memory of its worker, where a runtime cannot bound the heap alone."""
    calls: int = 100
    """Calls of one program."""
    in_flight: int = 16
    """Of them at a time; the others wait."""
    sleep_seconds: float = 5.0
    """Seconds that it may sleep, all together."""
    source_bytes: int = 64 * 1024
    """Its source, in UTF-8."""
    source_depth: int = 200
    """How deep its syntax may be nested."""
    print_bytes: int = 32 * 1024
    """What the model is shown of what it printed."""
    result_bytes: int = 64 * 1024
    """What the model is shown of what it returned, as JSON."""
    answer_bytes: int = 8 * 1024 * 1024
    """The result of one call, as JSON, on its way into a program."""
    replayed_bytes: int = 32 * 1024 * 1024
    """What is kept of the calls of one program, as JSON, where a runtime cannot put programs aside
    and one has to be told everything again: arguments and results. What has more runs on, and
    cannot wait for a person who is asked later."""
    answer_depth: int = 24
    """How deep such a result may be nested."""
    programs: int = 4
    """Programs that run at a time, by language; each has a worker. A caller who has one gets
    no further one that is the last, nor the last but one while nobody else has any, so that of four
    not even two callers together have all. Who runs the process may, while alone."""
    queued: int = 50
    """Programs of one caller that wait for a worker; one more is refused at once."""
    wait_seconds: float = 10.0
    """How long a program waits for a worker."""
    question_seconds: float = 120.0
    """How long a program may keep its worker while a person is asked and other callers wait for a
    worker, where it cannot give it back meanwhile: in TypeScript, or where it is too large."""
    suspended: int = 20
    """Programs of one principal that wait for a person."""
    suspended_bytes: int = 8 * 1024 * 1024
    """One such program as it is kept."""
    all_suspended_bytes: int = 256 * 1024 * 1024
    """Such programs of everybody together. Nobody keeps more of it than is left free for others:
    who is alone has half of it, of two each has a third."""
