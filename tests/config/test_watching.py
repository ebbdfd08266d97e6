"""A change of the files is heard, settles, and is handed over if it means anything."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from toolcrib.config import watching
from toolcrib.config.loading import Loaded, load
from toolcrib.config.watching import system_hints, watch
from toolcrib.settings import StdioLaunch

ONE = '{"mcpServers": {"a": {"command": "one"}}}'
TWO = '{"mcpServers": {"a": {"command": "two"}}}'


def command(loaded: Loaded, server_id: str = "a") -> str:
    launch = next(it.launch for it in loaded.settings.servers if it.id == server_id)
    assert isinstance(launch, StdioLaunch)
    return launch.command


class Watched:
    """A watch over some files whose hints a test gives, and what it handed over."""

    def __init__(self) -> None:
        self.taken: list[Loaded] = []
        self._look: Callable[[], Awaitable[None]] | None = None
        self.watching = anyio.Event()

    async def take(self, loaded: Loaded) -> None:
        self.taken.append(loaded)

    async def hints(self, files: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> None:
        assert files
        self._look = changed
        self.watching.set()
        await anyio.sleep_forever()

    async def hint(self) -> None:
        assert self._look is not None
        await self._look()


@asynccontextmanager
async def watched(
    *files: Path, current: Loaded | None = None, settle: float = 0
) -> AsyncGenerator[Watched]:
    found = Watched()

    async def run() -> None:
        loaded = current or load(files, {}, Path("/home/me"))
        home = Path("/home/me")
        await watch(loaded, {}, found.take, home=home, hints=found.hints, settle=settle)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await found.watching.wait()
            yield found
            tasks.cancel_scope.cancel()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(ONE)
    return path


def write(path: Path, text: str) -> None:
    path.write_text(text)


def delete(path: Path) -> None:
    path.unlink()


def touch(path: Path) -> None:
    path.touch()


def replace_by_link(path: Path, target: Path) -> None:
    """As a volume of configuration is updated: in one step, by a link to other files."""
    draft = path.with_suffix(".draft")
    draft.symlink_to(target)
    draft.replace(path)


def replace_by_file(path: Path, text: str) -> None:
    """As many editors save."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(path)


async def test_a_new_meaning_is_handed_over_once(file: Path) -> None:
    async with watched(file) as found:
        write(file, TWO)
        await found.hint()
        await found.hint()
    assert [command(it) for it in found.taken] == ["two"]


async def test_what_means_the_same_is_not_handed_over(file: Path) -> None:
    async with watched(file) as found:
        write(file, f"// a comment\n\n{ONE}")
        await found.hint()
        touch(file)
        await found.hint()
        await found.hint()
    assert found.taken == []


async def test_a_file_that_is_replaced_is_read_again(file: Path) -> None:
    async with watched(file) as found:
        replace_by_file(file, TWO)
        await found.hint()
    assert [command(it) for it in found.taken] == ["two"]


async def test_a_change_before_the_watch_began_is_found(file: Path) -> None:
    loaded = load([file], {}, Path("/home/me"))
    write(file, TWO)
    async with watched(current=loaded) as found:
        pass
    assert [command(it) for it in found.taken] == ["two"]


async def test_a_broken_file_keeps_what_it_said_and_is_told_until_it_is_mended(file: Path) -> None:
    async with watched(file) as found:
        write(file, ONE[:-3])
        await found.hint()
        write(file, TWO)
        await found.hint()
    broken, mended = found.taken
    assert command(broken) == "one"
    assert "not closed" in broken.errors[0].message
    assert (command(mended), mended.problems) == ("two", ())


async def test_a_problem_that_only_moves_is_not_told_again(file: Path) -> None:
    async with watched(file) as found:
        write(file, '{"mcpServers": {"a": {"command": ""}}}')
        await found.hint()
        write(file, '\n{"mcpServers": {"a": {"command": ""}}}')
        await found.hint()
    assert [len(it.problems) for it in found.taken] == [1]


async def test_a_file_that_is_deleted_keeps_what_it_said_and_is_told(file: Path) -> None:
    async with watched(file) as found:
        delete(file)
        await found.hint()
        await found.hint()
    (gone,) = found.taken
    assert command(gone) == "one"
    assert "does not exist" in gone.errors[0].message


async def test_a_file_that_is_broken_from_the_start_is_taken_once_it_is_mended(file: Path) -> None:
    write(file, "{")
    async with watched(file) as found:
        assert found.taken == []
        write(file, ONE)
        await found.hint()
    assert [command(it) for it in found.taken] == ["one"]


async def test_an_entry_in_the_middle_of_editing_keeps_its_server(file: Path) -> None:
    async with watched(file) as found:
        write(file, '{"mcpServers": {"a": {"command": ""}, "b": {"command": "new"}}}')
        await found.hint()
    (taken,) = found.taken
    assert (command(taken), command(taken, "b")) == ("one", "new")
    assert taken.errors[0].entry == "a"


async def test_a_file_that_is_being_written_is_read_when_it_holds_still(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([ONE, "", TWO[:10], TWO, TWO])

    async def sleep(seconds: float) -> None:
        assert seconds == 0.5
        write(file, next(steps))
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(watching.anyio, "sleep", sleep)
    async with watched(file, settle=0.5) as found:
        write(file, "{")
        await found.hint()
    assert [command(it) for it in found.taken] == ["two"]
    assert found.taken[0].problems == ()


async def test_a_file_that_never_holds_still_is_read_at_last(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0

    async def sleep(_seconds: float) -> None:
        nonlocal written
        written += 1
        write(file, f"{TWO}{' ' * written}")
        await anyio.lowlevel.checkpoint()

    async with watched(file) as found:
        monkeypatch.setattr(watching.anyio, "sleep", sleep)
        write(file, TWO)
        await found.hint()
        monkeypatch.undo()
    assert [command(it) for it in found.taken] == ["two"]
    assert written == watching.MOST_LOOKS


# ---- where hints come from ----


async def test_the_system_tells_of_writes_replacements_and_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real notifications: an editor replaces a file, a volume swaps a link."""
    monkeypatch.setattr(watching, "LOOK_EVERY", 600)  # nothing is found without being told of
    store = tmp_path / "store"
    store.mkdir()
    write(store / "1.json", ONE)
    write(store / "2.json", TWO)
    plain, link = tmp_path / "plain.json", tmp_path / "link.json"
    write(plain, '{"mcpServers": {"b": {"command": "one"}}}')
    replace_by_link(link, store / "1.json")
    send, receive = anyio.create_memory_object_stream[Loaded](10)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks, send, receive:
            current = load([plain, link], {}, tmp_path)

            async def run() -> None:
                await watch(current, {}, send.send, home=tmp_path, settle=0.01)

            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            replace_by_file(plain, '{"mcpServers": {"b": {"command": "two"}}}')
            assert command(await receive.receive(), "b") == "two"
            replace_by_link(link, store / "2.json")
            assert command(await receive.receive()) == "two"
            write(store / "2.json", '{"mcpServers": {"a": {"command": "three"}}}')
            assert command(await receive.receive()) == "three"
            tasks.cancel_scope.cancel()


async def test_ending_a_watch_does_not_wait_for_the_system(tmp_path: Path) -> None:
    """The waiting thread would go on for `LOOK_EVERY` seconds, shielded from cancellation."""

    async def never() -> None:
        raise AssertionError

    with anyio.fail_after(watching.LOOK_EVERY / 2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(system_hints, [tmp_path / "x"], never)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


class Counted:
    """Ends the watch after some hints."""

    def __init__(self, most: int) -> None:
        self.hints = 0
        self._most = most
        self._over = anyio.Event()

    async def __call__(self) -> None:
        self.hints += 1
        if self.hints == self._most:
            self._over.set()

    async def run(self, files: Sequence[Path]) -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(system_hints, files, self)
                await self._over.wait()
                tasks.cancel_scope.cancel()


@pytest.mark.virtual_time
async def test_without_notifications_the_files_are_polled_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def no_more_watches(*_paths: Path, **_options: object) -> AsyncGenerator[object, None]:
        raise OSError(28, "no more watches")
        yield

    monkeypatch.setattr(watching, "awatch", no_more_watches)
    counted = Counted(3)
    await counted.run([tmp_path / "mcp.json"])
    assert counted.hints == 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "polled instead of watched" in record.getMessage()
    assert "no more watches" in record.getMessage()


@pytest.mark.virtual_time
async def test_a_folder_that_does_not_exist_yet_is_polled(tmp_path: Path) -> None:
    counted = Counted(2)
    await counted.run([tmp_path / "not" / "yet" / "mcp.json"])
    assert counted.hints == 2


async def test_a_taker_that_fails_is_not_mistaken_for_a_system_without_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one_hint(*_paths: Path, **_options: object) -> AsyncGenerator[object, None]:
        yield set[object]()

    async def fail() -> None:
        raise OSError("of the taker")

    monkeypatch.setattr(watching, "awatch", one_hint)
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="of the taker")):
        await system_hints([tmp_path / "x"], fail)
