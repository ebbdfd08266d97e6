"""`toolcrib run` with files that are no programs."""

import io
from pathlib import Path

import pytest

from toolcrib.cli.exits import UsageError
from toolcrib.cli.verb_run import Script


def test_files_that_never_end_or_are_none_are_refused_with_their_name(tmp_path: Path) -> None:
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"x = '\xe9'")
    paths = [str(tmp_path), str(tmp_path / "none"), "x" * 10_000, str(latin)]
    if Path("/dev/zero").exists():
        paths.append("/dev/zero")
    for path in paths:
        with pytest.raises(UsageError, match=path[:100]):
            Script.of(path, None).read(io.StringIO())
    with pytest.raises(UsageError, match="it has more than"):
        Script.of("-", None).read(io.StringIO("x" * 20_000_000))


def test_a_file_that_an_editor_marked_as_utf_8_is_a_program_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfreturn 1\r\n")
    assert Script.of(str(path), None).read(io.StringIO()) == "return 1\n"
