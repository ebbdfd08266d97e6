"""Forms that ask for secrets: passwords, keys, tokens, card numbers, seed phrases.

Secrets must not pass through a form: hosts, logs and models would read them (MCP 2026-07-28,
client: elicitation). What a field is for is read from its name, title, description and format, and
from the message above it. Words are no proof, so the reading leans on how a secret is asked for
("your API key", a field called `password`) and lets pass what only mentions one (`token_count`,
"name of the key", "never send us your password").
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolcrib.core.invisible import visible
from toolcrib.core.lookalikes import as_it_looks
from toolcrib.protocol.forms import Field, Form

_SECRETS: Final = (
    r"pass ?words?|pass ?phrases?|pass ?codes?|pass ?keys?|passwd|pwd"
    r"|(?:api|access|secret|private|signing|encryption|master|account|auth|ssh|service|recovery"
    r"|backup|decryption|wallet) ?keys?"
    r"|secret access keys?|(?:client|app|application|consumer|shared|totp|webhook) secrets?"
    r"|(?:access|auth|authentication|authorization|api|bearer|refresh|session|security|personal"
    r"|personal access|oauth|jwt|id|login|github|gitlab|slack|bot|deploy|identity) tokens?"
    r"|your (?:\w+ )?token|(?:github|gitlab|azure|devops) pat"
    r"|credentials?|bearer"
    r"|(?:credit|debit|bank|payment) ?card(?: numbers?| details?)?|card numbers?|card pan"
    r"|cvv2?|cvc2?|(?:card )?security codes?|card verification (?:value|code)s?"
    r"|pin (?:code|number)s?|(?:your|card|bank|sim) pin"
    r"|(?:seed|recovery|backup|mnemonic|wallet|secret) (?:phrase|word|code)s?|mnemonic"
    r"|(?:one time|verification|authentication|authenticator|login|2 ?fa|tfa|mfa|otp|sms|access"
    r"|(?:two|2|second|multi) ?(?:factor|step)(?: auth\w*)?)"
    r" (?:pass ?)?(?:code|word)s?|otp|totp"
    # German, French, Spanish and Portuguese, Italian, Dutch, Nordic, Polish, Turkish, Russian
    r"|passwort|kennwort|zugangsdaten|api schlussel|geheimschlussel|kreditkartennummer"
    r"|mots? de passe|cle api|cle secrete|code secret|numero de carte"
    r"|contrasenas?|clave secreta|clave api|numero de (?:la )?tarjeta|senha|chave (?:de )?api"
    r"|palavra passe|parola d ordine|chiave api|wachtwoord|losenord|adgangskode|passord|haslo"
    r"|sifre(?:niz|n)?|парол[ьяюе]м?|секретный ключ"
)
_UNSPACED: Final = re.compile(
    "密码|密碼|口令|密钥|密鑰|私钥|私鑰|令牌|助记词|验证码|パスワード|暗証番号|秘密鍵|비밀번호|암호"
    "|كلمة المرور|סיסמה|รหัสผ่าน|पासवर्ड"
)
"""In scripts that put no spaces between words, or that fold badly."""

_ABOUT: Final = (
    r"(?: (?:names?|counts?|ids?|type|kind|label|titles?|policy|policies|length|hint|format"
    r"|limit|budget|expir\w*|ttl|location|paths?|files?|urls?|uri|manager|strength|rotation"
    r"|resets?|fields?|enabled|required|usage|symbol|standard|description|notes?|alias|status"
    r"|version|scopes?|owner|provider|prefix|store|vault|reminder|less))\b"
)
"""Words after a secret that make it one's property: `password_policy` is no password."""

_WHOLE_NAMES: Final = re.compile(
    r"(?:(?:the|your|my|new|old|current|confirm|repeat|user|admin|root|db) )*"
    r"(?:token|pat|secret|pin|pass|mnemonic|passcode|secrets|auth|authorization|jwt)"
)
"""Names that ask for a secret when nothing else is in them."""

_NAMED: Final = re.compile(rf"\b(?:{_SECRETS})\b(?!{_ABOUT})")
_ALONE: Final = re.compile(_SECRETS)
_PROPERTY_OF: Final = re.compile(
    r"\b(?:names?|labels?|titles?|ids?|number|count|types? of|kind|description|notes?|alias|owner"
    r"|length|expir\w*|path|location|url|file|reason|purpose|postal|zip|which|whose)\b"
    r"(?: \w+){0,4} *$"
)
"""Words before a secret that ask about it, and not for it."""

_DENIED: Final = re.compile(
    r"\b(?:no|not|never|don t|do not|without|nor|cannot|nicht|kein\w*|nie|jamais|pas|nunca|mai)\b"
)
_REQUESTED: Final = re.compile(
    r"\b(?:enter|type|paste|provide|give|input|supply|share|send|submit|tell|confirm|need|needs"
    r"|require[sd]?|what is|what s|fill in|set|choose|eingeben|geben|entrez|saisissez|introduzca"
    r"|ingrese|digite|inserisci|voer|ange|podaj|girin|введите)\b"
)
_SENTENCES: Final = re.compile(r"[.!?;:]+(?:\s|$)|[\u3002\uff01\uff1f\n]")
_OPENING_WORDS: Final = 8
"""A description says first what a field holds; what it mentions later may be anything."""

_LETTERS: Final = {"@": "a", "4": "a", "$": "s", "5": "s", "0": "o", "3": "e", "1": "i", "!": "i"}
_SIGN: Final = re.compile(r"(?<=[^\W\d_]|[@$])[@$!01345](?=[^\W\d_]|[@$])")
"""A sign or digit inside a word that stands for a letter."""

_MOST_TEXT: Final = 4_000


def secrets_asked(message: object, form: Form) -> tuple[str, ...]:
    """The names of the fields that ask for a secret; empty where none does."""
    asking = tuple(item.name for item in form.fields if _asks(item))
    if asking or not _requests(message):
        return asking
    return tuple(item.name for item in form.fields if item.free and item.type == "string")[:1]


def _asks(item: Field) -> bool:
    if not item.free:
        return False
    if item.schema.get("format") == "password" or item.schema.get("writeOnly") is True:
        return True
    return _is_named_so(item.name) or _is_named_so(item.schema.get("title")) or _describes(item)


def _is_named_so(name: object) -> bool:
    return any(
        _WHOLE_NAMES.fullmatch(words) or _has_secret(words) for words in _readings(name, name=True)
    )


def _describes(item: Field) -> bool:
    for words in _sentences(item.schema.get("description")):
        opening = " ".join(words.split()[:_OPENING_WORDS])
        if _has_secret(opening):
            return True
    return False


def _requests(message: object) -> bool:
    """Whether the text above a form asks for a secret."""
    return any(
        _ALONE.fullmatch(words)
        or (_has_secret(words) and (_REQUESTED.search(words) or _UNSPACED.search(words)))
        for words in _sentences(message)
    )


def _has_secret(words: str) -> bool:
    found = _NAMED.search(words) or _UNSPACED.search(words)
    if found is None:
        return False
    before = words[: found.start()]
    return not (_DENIED.search(before) or _PROPERTY_OF.search(before))


def _sentences(text: object) -> Iterator[str]:
    if isinstance(text, str):
        for sentence in _SENTENCES.split(text[:_MOST_TEXT]):
            yield from _readings(sentence)


def _readings(text: object, *, name: bool = False) -> Iterator[str]:
    """A text as words in lower case without accents; and again with lookalikes replaced.

    These are letters of other scripts, and signs and digits inside a word (`p@ssw0rd`).
    """
    if not isinstance(text, str):
        return
    plain = unicodedata.normalize("NFKC", visible(text[:_MOST_TEXT]))
    if name:
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    plain = plain.replace("ß", "ss").casefold()
    apart = unicodedata.normalize("NFKD", plain)
    bare = "".join(char for char in apart if not "\u0300" <= char <= "\u036f")
    bare = bare.replace("\u0131", "i").replace("\u0142", "l")
    composed = unicodedata.normalize("NFC", bare)
    words = _words(composed)
    yield words
    spelled = _SIGN.sub(lambda sign: _LETTERS[sign[0]], composed)
    yield from {as_it_looks(words), _words(spelled), as_it_looks(_words(spelled))} - {words}


def _words(text: str) -> str:
    return " ".join(re.split(r"[\W_]+", text)).strip()
