"""Words become stems, the same from any thread."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from toolcrib.adapters.stemming import EnglishStemmer

STEM = EnglishStemmer()


@pytest.mark.parametrize(
    ("forms", "stem"),
    [
        (("delete", "deletes", "deleting", "deleted"), "delet"),
        (("entry", "entries"), "entri"),
        (("run", "running", "runs"), "run"),
        (("k8s",), "k8s"),
        (("天气",), "天气"),
        (("größe",), "größe"),
        (("",), ""),
        (("x" * 41 + "ing",), "x" * 41 + "ing"),
    ],
    ids=["verb", "plural", "gerund", "mixed", "chinese", "german", "empty", "long"],
)
def test_forms_of_one_word_have_one_stem(forms: tuple[str, ...], stem: str) -> None:
    assert {STEM(form) for form in forms} == {stem}


def test_threads_do_not_disturb_each_other() -> None:
    words = [f"{word}{end}" for word in ("test", "walk", "jump") for end in ("ing", "ed", "s")] * 50
    fresh = EnglishStemmer()
    with ThreadPoolExecutor(4) as pool:
        stems = list(pool.map(fresh, words))
    assert stems == [STEM(word) for word in words]


def test_no_more_is_remembered_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.adapters.stemming._REMEMBERED", 3)
    fresh = EnglishStemmer()
    for word in ("one", "two", "three", "four", "five"):
        fresh(word)
    assert len(fresh._stems) <= 3  # pyright: ignore[reportPrivateUsage] - the bound is inside
    assert fresh("running") == "run"
