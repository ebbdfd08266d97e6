"""The backends that conftest offers do what their names promise."""

import anyio
import pytest
import sniffio


async def test_a_test_runs_on_asyncio_by_default() -> None:
    assert sniffio.current_async_library() == "asyncio"


@pytest.mark.virtual_time
@pytest.mark.timeout(10)
async def test_a_week_passes_at_once_in_virtual_time() -> None:
    assert sniffio.current_async_library() == "trio"
    before = anyio.current_time()
    await anyio.sleep(7 * 24 * 3600)
    assert anyio.current_time() - before >= 7 * 24 * 3600


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_test_can_ask_for_both(anyio_backend: str) -> None:
    assert sniffio.current_async_library() == anyio_backend
