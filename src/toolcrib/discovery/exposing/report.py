"""What is shown and what it costs, for people."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.core.exposure import Pinned, Shown, Threshold, Wanted


@dataclass(frozen=True, slots=True)
class ExposureReport:
    """What a model is shown at the start, beside what everything would cost."""

    wanted: Wanted
    """As configured."""
    exposure: Shown
    why: str
    """A sentence."""
    threshold: Threshold
    full: Mapping[str, int]
    """Tokens of all definitions, by server: those that exposure `full` shows."""
    exposed: Mapping[str, int]
    """Tokens of the tools that are shown, by server; a server of which none is shown has 0."""
    meta: int
    """Tokens of the meta-tools that are shown."""
    pinned: Pinned
    """Empty under `full`: everything is shown there."""
    counter: str
    """What was counted."""
    exact: bool
    """Whether these are the tokens of the model, and no estimate."""

    @property
    def full_tokens(self) -> int:
        """What exposure `full` would cost, meta-tools apart."""
        return sum(self.full.values())

    @property
    def exposed_tokens(self) -> int:
        """What is shown, meta-tools included."""
        return self.meta + sum(self.exposed.values())


def why(wanted: Wanted, shown: Shown, threshold: Threshold, tokens: int) -> str:
    """Why this is shown, in a sentence."""
    if wanted != "auto":
        return f"configured as {wanted}"
    share = f"{threshold.share:.3g} of {threshold.window:,} tokens"
    if tokens >= threshold.up:
        return f"all definitions reach {threshold.up:,} tokens ({share})"
    if shown != "full":
        return (
            f"all definitions cost {tokens:,} tokens; they are shown again when all servers are "
            f"there and they cost less than {threshold.down:,}"
        )
    return f"all definitions cost {tokens:,} tokens, less than {threshold.up:,} ({share})"
