"""Text of people and of programs taken apart into words.

Identifiers fall apart where people read a new word (`getHTTPStatus`, `app_table2`). What is said
with a digit in it is the same wherever it stands and however it is written: one word where letters
alone would mean nothing (`2FA` in `parse2FACode`, `S3` in `listS3Buckets`, `K8s`, `X.509`), else
two (`UTF-8`, `utf8`, `top10`). Scripts that are written without spaces become overlapping pairs of
characters; Chinese words that tools are often about become English ones, too, so that either
language finds the other.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolcrib.core.search.chinese import english_of, phrases_of

_UNSPACED: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"  # kana, Han, Hangul
    r"\U00020000-\U0003ffff"
)
_MARKS: Final = r"\u0300-\u036f\u0900-\u0dff"
"""Accents, and the scripts of India, whose vowel signs are no letters to `\\w`."""
_RUN: Final = re.compile(rf"([{_UNSPACED}]+)|((?:[^\W_{_UNSPACED}]|[{_MARKS}'])+)")
_BEFORE_WORD: Final = r"(?=[A-Z][a-z]|[^A-Za-z0-9]|$)"
"""Where capitals end that belong together."""
_ABBREVIATED: Final = rf"[A-Z]{{1,2}}{_BEFORE_WORD}"
_PIECE: Final = re.compile(
    r"(?:IPv|IPV|Ipv|ipv)[46](?![0-9])|OAuth"  # written with a capital inside, and said as one word
    rf"|[A-Za-z][0-9]{{1,2}}(?:[a-z](?![a-z0-9])|[A-Z]{_BEFORE_WORD})"  # K8s, E2E, i18n
    r"|[A-Z]{1,2}[0-9]{1,4}(?![a-z0-9])"  # S3, EC2
    # mp3, Md5; but to3D is about 3D
    rf"|(?:[A-Z][a-z]|[a-z]{{1,2}})[0-9]{{1,4}}(?![a-z0-9]|{_ABBREVIATED})"
    rf"|[0-9]{{1,2}}(?:[a-z]{{1,2}}(?![a-z0-9])|{_ABBREVIATED})"  # 2FA, 3D, 4k
    r"|[A-Z]{2,}s(?![a-z])"  # URLs, PDFs
    r"|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
)
_NAMED: Final = re.compile(r"[A-Za-z]{3,}[0-9]+")
"""A word and a number, however short: `utf8`, `web3`."""
_SPLIT: Final = re.compile(
    r"(?<![^\W_])(?:([A-Za-z]{1,2})[-._](?=[0-9]{1,4}(?![^\W_]))"  # X.509, MP-3
    r"|([0-9]{1,2})[-_](?=[A-Za-z]{1,2}(?![^\W_])))",  # 3-D
    re.ASCII,
)
_DIGIT: Final = re.compile(r"[0-9]")
_ENDING: Final = re.compile(r"'(?:s|re|ve|ll|d|m|t)?(?![^\W_])|'", re.IGNORECASE)
_APOSTROPHE: Final = "\u2019"
_ACCENTED: Final = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_MIXED: Final = 4
"""Up to so many characters, letters beside digits are one word."""
LONGEST_WORD: Final = 64
"""Characters of a word that count; longer ones are data, not words."""


def words(text: str) -> Iterator[str]:
    """The words of a text in lower case, in their order; endings and stop words still on."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace(_APOSTROPHE, "'")
        text = _ACCENTED.sub(_plain, text)
    if _DIGIT.search(text):
        text = _SPLIT.sub(r"\1\2", text)
    for found in _RUN.finditer(text):
        unspaced, spaced = found.groups()
        if unspaced is not None:
            yield from _pairs(unspaced)
        else:
            yield from _pieces(_ENDING.sub("", spaced) if "'" in spaced else spaced)


def _plain(letter: re.Match[str]) -> str:
    """A Latin letter without its accents."""
    return unicodedata.normalize("NFD", letter[0])[0]


def _pairs(run: str) -> Iterator[str]:
    if _HAN.search(run) is None:
        yield from _overlapping(run)
        return
    for phrase in phrases_of(run):
        yield from _overlapping(phrase)
        yield from english_of(phrase)


def _overlapping(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _pieces(run: str) -> Iterator[str]:
    """The words inside one run of letters and digits."""
    if len(run) > LONGEST_WORD:
        run = run[:LONGEST_WORD]
    if not run.isascii() or (len(run) <= _MIXED and _is_mixed(run)):
        if run:
            yield run.lower()
        return
    for piece in _PIECE.findall(run):
        yield piece.lower()


def _is_mixed(run: str) -> bool:
    return not run.isalpha() and not run.isdigit() and _NAMED.fullmatch(run) is None
