"""Sealed texts: AES-256-GCM under a key of this installation, with a life of their own.

A text is unpadded base64url of: version (1 byte), when it was made and when it ends (8 bytes each,
milliseconds since the epoch, big-endian), nonce (12 random bytes), ciphertext and tag. All that
precedes the nonce is authenticated together with `bound`. Nonces are random: 2**32 texts of one
installation are far more than anybody is asked.
"""

import base64
import binascii
import secrets
import struct
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolcrib.ports import Clock, Keys

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">BQQ")
_NONCE: Final = 12
_TAG: Final = 16
_SHORTEST: Final = _HEAD.size + _NONCE + _TAG
_SLACK: Final = 60_000
"""Milliseconds by which the clock of another replica may be ahead of ours."""
_LONGEST: Final = 100 * 365 * 86_400.0
"""Seconds a text lives at most, so that its end is a number that fits."""


class AesSealer:
    """Implements `Sealer`; every process with the same installation key reads what one made.

    Args:
        keys: Whose key for "sealed state" is used.
        clock: Its wall time decides what is over.
    """

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._cipher = AESGCM(keys.derived("sealed state"))
        self._clock = clock

    def __repr__(self) -> str:
        return "AesSealer(***)"

    def seal(self, value: bytes, *, bound: bytes, lifetime: float) -> str:
        """A text with the value inside, good for `lifetime` seconds with the same `bound`."""
        made = self._now()
        ends = made + int(min(max(0.0, lifetime), _LONGEST) * 1000)
        head = _HEAD.pack(_VERSION, made, ends)
        nonce = secrets.token_bytes(_NONCE)
        sealed = self._cipher.encrypt(nonce, value, head + bound)
        return _text_of(head + nonce + sealed)

    def unseal(self, text: str, *, bound: bytes) -> bytes | None:
        """The value; None for a text that is foreign, changed, bound otherwise, or over.

        None, too, for one that comes from the future: a clock that was set back would give it a
        longer life than it was made with.
        """
        raw = _raw_of(text)
        if raw is None or len(raw) < _SHORTEST:
            return None
        head, nonce = raw[: _HEAD.size], raw[_HEAD.size : _HEAD.size + _NONCE]
        version, made, ends = _HEAD.unpack(head)
        if version != _VERSION or not made - _SLACK <= self._now() < ends:
            return None
        try:
            return self._cipher.decrypt(nonce, raw[_HEAD.size + _NONCE :], head + bound)
        except InvalidTag:
            return None

    def _now(self) -> int:
        return int(max(0.0, self._clock.now().wall) * 1000)


def _text_of(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _raw_of(text: str) -> bytes | None:
    """What a text stands for, where it is the one text that stands for it."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (UnicodeEncodeError, binascii.Error):
        return None
    # The decoder skips what is no base64 and ignores spare bits: such a text is not one of ours.
    return raw if _text_of(raw) == text else None
