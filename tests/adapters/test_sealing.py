"""Sealed texts open for those who may open them, in their time, and for nobody else."""

import base64
import struct

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib.adapters.sealing import AesSealer
from toolcrib.config.keys import InstallationKey
from toolcrib.ports import Sealer
from toolcrib.testing.store_contract import SteppedClock

LIFE = 900.0
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def sealer(clock: SteppedClock | None = None, key: bytes = b"k" * 32) -> Sealer:
    return AesSealer(InstallationKey(key), clock or SteppedClock())


@given(st.binary(max_size=200), st.binary(max_size=50), st.floats(0.001, 1e6))
def test_what_was_sealed_comes_back_to_every_process_with_the_key(
    value: bytes, bound: bytes, lifetime: float
) -> None:
    text = sealer().seal(value, bound=bound, lifetime=lifetime)
    assert set(text) <= set(ALPHABET)
    assert sealer().unseal(text, bound=bound) == value


def test_a_text_shows_nothing_and_is_never_made_twice() -> None:
    one = sealer()
    texts = {one.seal(b"a secret answer", bound=b"", lifetime=LIFE) for _ in range(100)}
    assert len(texts) == 100
    for text in texts:
        assert b"secret" not in base64.urlsafe_b64decode(text + "==")
    assert len(one.seal(b"", bound=b"", lifetime=LIFE)) == 60


def test_no_character_of_a_text_can_be_changed() -> None:
    """Every position, every other character of the alphabet, and some of none."""
    one = sealer()
    text = one.seal(b"v", bound=b"b", lifetime=LIFE)
    for position in range(len(text)):
        for other in {*ALPHABET, "=", "+", "/", " ", "\n", "é", "\0"} - {text[position]}:
            changed = text[:position] + other + text[position + 1 :]
            assert one.unseal(changed, bound=b"b") is None, (position, other)


def test_no_byte_of_a_text_can_be_changed() -> None:
    """Version, both times, nonce, ciphertext and tag: every bit of each."""
    one = sealer()
    text = one.seal(b"value", bound=b"b", lifetime=LIFE)
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    for position in range(len(raw)):
        for bit in range(8):
            changed = bytearray(raw)
            changed[position] ^= 1 << bit
            again = base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
            assert one.unseal(again, bound=b"b") is None, (position, bit)


def test_no_text_that_was_cut_or_grew_opens() -> None:
    one = sealer()
    text = one.seal(b"value", bound=b"b", lifetime=LIFE)
    for length in range(len(text)):
        assert one.unseal(text[:length], bound=b"b") is None
        assert one.unseal(text[length + 1 :], bound=b"b") is None
    for more in ("A", "AA", "AAAA", "=", "==", "\n", " ", text):
        assert one.unseal(text + more, bound=b"b") is None
        assert one.unseal(more + text, bound=b"b") is None


def test_one_value_has_one_text() -> None:
    """Spare bits of the last character, padding, the other alphabet, and inserted line breaks."""
    one = sealer()
    for value in (b"", b"v", b"vv", b"vvv"):
        text = one.seal(value, bound=b"", lifetime=LIFE)
        opened = [
            other
            for other in (
                *(text[:-1] + last for last in ALPHABET),
                text + "=" * (-len(text) % 4 or 4),
                text.replace("-", "+").replace("_", "/") + "=",
                "\n".join((text[:10], text[10:])),
            )
            if one.unseal(other, bound=b"") is not None
        ]
        assert opened == [text]


@pytest.mark.parametrize("bound", [b"", b"b", b"bound ", b" bound", b"BOUND", b"bound\0"])
def test_a_text_that_is_bound_otherwise_does_not_open(bound: bytes) -> None:
    one = sealer()
    text = one.seal(b"v", bound=b"bound", lifetime=LIFE)
    assert one.unseal(text, bound=bound) is None
    assert one.unseal(text, bound=b"bound") == b"v"


def test_a_text_of_another_installation_does_not_open() -> None:
    text = sealer(key=b"a" * 32).seal(b"v", bound=b"", lifetime=LIFE)
    assert sealer(key=b"b" * 32).unseal(text, bound=b"") is None


def test_a_text_is_over_when_its_time_is() -> None:
    clock = SteppedClock()
    one = sealer(clock)
    text = one.seal(b"v", bound=b"", lifetime=LIFE)
    clock.advance(LIFE - 0.01)
    assert one.unseal(text, bound=b"") == b"v"
    clock.advance(0.01)
    assert one.unseal(text, bound=b"") is None
    clock.advance(1e9)
    assert one.unseal(text, bound=b"") is None


@pytest.mark.parametrize("lifetime", [0.0, -5.0, float("nan"), float("-inf")])
def test_a_text_without_a_life_never_opens(lifetime: float) -> None:
    one = sealer()
    assert one.unseal(one.seal(b"v", bound=b"", lifetime=lifetime), bound=b"") is None


def test_a_text_without_an_end_opens_for_long() -> None:
    clock = SteppedClock()
    one = sealer(clock)
    text = one.seal(b"v", bound=b"", lifetime=float("inf"))
    clock.advance(10 * 365 * 86_400)
    assert one.unseal(text, bound=b"") == b"v"


def test_a_clock_that_is_set_back_gives_no_text_a_longer_life() -> None:
    """A replica may be a minute behind; more than that is no difference of clocks."""
    clock = SteppedClock()
    one = sealer(clock)
    text = one.seal(b"v", bound=b"", lifetime=LIFE)
    clock.jump(-60)
    assert one.unseal(text, bound=b"") == b"v"
    clock.jump(-1)
    assert one.unseal(text, bound=b"") is None


def test_a_clock_before_the_epoch_is_no_error() -> None:
    one = sealer(SteppedClock(-1e6))
    assert one.unseal(one.seal(b"v", bound=b"", lifetime=LIFE), bound=b"") == b"v"


@given(st.text() | st.text(ALPHABET, min_size=50, max_size=100) | st.binary().map(repr))
@example("")
@example("=")
@example("\ud800")
@example("AQ" + "A" * 58)
@example("A" * 100_000)
def test_garbage_opens_nothing_and_breaks_nothing(text: str) -> None:
    assert sealer().unseal(text, bound=b"") is None


def test_a_text_of_another_version_does_not_open() -> None:
    """Although it was made with our key: what a later version means by it is not known."""
    clock = SteppedClock()
    now = int(clock.now().wall * 1000)
    cipher = AESGCM(InstallationKey(b"k" * 32).derived("sealed state"))
    opened: list[bytes | None] = []
    for version in (0, 1, 2, 255):
        head, nonce = struct.pack(">BQQ", version, now, now + 1000), b"n" * 12
        raw = head + nonce + cipher.encrypt(nonce, b"v", head + b"b")
        text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        opened.append(sealer(clock).unseal(text, bound=b"b"))
    assert opened == [None, b"v", None, None]


def test_no_key_is_in_a_repr() -> None:
    assert "k" * 8 not in repr(sealer())
