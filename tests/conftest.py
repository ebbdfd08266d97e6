"""What every test shares: the loop it runs on, and the peers it may need."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from trio.testing import MockClock

from toolcrib.testing import hostile_report

# How fast examples come and run says how busy the machine is; the first ones of a new checkout are
# slow in any case, because tables are built. The same examples are tried each time, so that a
# change is judged by itself; `make fuzz` looks for new ones.
HOUSE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("house", HOUSE)
settings.register_profile("seek", HOUSE, derandomize=False, max_examples=400, print_blob=True)
settings.load_profile("house")

found_constants = providers._get_local_constants  # pyright: ignore[reportPrivateUsage]


def constants() -> Constants:
    """Values from our own source that Hypothesis likes to try, where new examples are wanted.

    Which there are depends on the modules that tests before have loaded, and with parallel workers
    that is another set each time. `tests/house/test_property_tests.py` notices when Hypothesis asks
    for them in another way.
    """
    same_each_time = settings.get_current_profile_name() == "house"
    return Constants() if same_each_time else found_constants()


providers._get_local_constants = constants  # pyright: ignore[reportPrivateUsage]

ROOT = Path(__file__).resolve().parent.parent
PEERS = (
    ROOT / ".peers/venv/bin/mcp-server-time",
    ROOT / "peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
)


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Asyncio, as in production; trio with a jumping clock where the test asks for virtual time.

    A test that must hold on both is parametrised over `anyio_backend` directly.
    """
    if request.node.get_closest_marker("virtual_time"):
        return "trio", {"clock": MockClock(autojump_threshold=0)}
    return "asyncio", {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail at once, and say why, where a test needs peers that are not installed."""
    if item.get_closest_marker("peers") and not all(path.exists() for path in PEERS):
        pytest.fail("peers are missing: `make peers` installs them", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what the hostile programs took, over all processes of this run."""
    lines = hostile_report.told(it for each in terminalreporter.stats.values() for it in each)
    if lines:
        terminalreporter.section("hostile programs")
        for line in lines:
            terminalreporter.write_line(line)
