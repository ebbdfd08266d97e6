from typing import Any

import pytest

from toolcrib.protocol.forms import Form, parse_form
from toolcrib.protocol.secret_asking import secrets_asked

ASKING_NAMES = [
    "password",
    "passwd",
    "userPassword",
    "new_password",
    "db-password",
    "PASSWORD",
    "pwd",
    "passphrase",
    "passcode",
    "api_key",
    "apiKey",
    "APIKey",
    "X-API-Key",
    "openai_api_key",
    "secret",
    "secret_key",
    "clientSecret",
    "aws_secret_access_key",
    "token",
    "accessToken",
    "access_token",
    "GITHUB_TOKEN",
    "bearer_token",
    "auth_token",
    "refreshToken",
    "jwt",
    "pin",
    "cvv",
    "cvc2",
    "card_number",
    "cardNumber",
    "creditCardNumber",
    "seed_phrase",
    "recoveryPhrase",
    "mnemonic",
    "privateKey",
    "ssh_private_key",
    "encryption_key",
    "otp",
    "verification_code",
    "credentials",
    "passwort",
    "kennwort",
    "contraseña",
    "senha",
    "wachtwoord",
    "mot_de_passe",
    "clé_api",
    "şifre",
    "hasło",
    "lösenord",
    "пароль",
    "密码",
    "パスワード",
    "비밀번호",
    "p\u0430ssw\u043erd",
    "p@ssword",
    "p@$$w0rd",
    "passkey",
    "recoveryKey",
    "backup_key",
    "2fa_code",
    "2FACode",
    "twoFactorCode",
    "github_pat",
    "pat",
    "personal_access_token",
]
ASKING_TITLES = [
    "Password",
    "Your password",
    "API key",
    "Enter your PIN code",
    "Credit card number",
    "Card security code",
    "Seed phrase",
    "One-time code",
    "Access token",
    "Mot de passe",
    "Clé API",
    "Ihr Passwort",
    "Pass\u200bword",
    "\uff30assword",
]
ASKING_DESCRIPTIONS = [
    "Your GitHub API key",
    "Paste the access token here",
    "The password of the database",
    "Needed for the login. Enter your password.",
    "12-word recovery phrase of your wallet",
]
ASKING_MESSAGES = [
    "Please provide your API key to continue.",
    "Enter your password:",
    "Enter your p@ssw0rd",
    "Personal access token",
    "Two-factor authentication code:",
    "Type the 2FA code of your app",
    "Paste your token",
    "Paste your GitHub token",
    "Enter your recovery key",
    "To go on I need your credit card number",
    "What is your PIN code?",
    "One more thing.\nType the one-time code from the SMS",
    "请输入您的密码",
    "Bitte geben Sie Ihr Passwort ein",
]
HARMLESS_NAMES = [
    "token_count",
    "tokenCount",
    "max_tokens",
    "tokens",
    "tokenizer",
    "tokenType",
    "passkey_id",
    "pattern",
    "patient",
    "path",
    "token_symbol",
    "keyword",
    "keywords",
    "key",
    "primary_key",
    "sort_key",
    "monkey",
    "key_id",
    "password_policy",
    "passwordLength",
    "password_hint",
    "api_key_name",
    "secret_name",
    "secretary",
    "username",
    "email",
    "name",
    "city",
    "pinned",
    "pin_message",
    "pinterest_board",
    "spinner",
    "passenger",
    "passport_number",
    "compass",
    "bypass",
    "card_title",
    "scorecard",
    "postal_code",
    "zip_code",
    "country_code",
    "author",
    "authority",
    "seed",
    "description",
    "amount",
]
HARMLESS_TITLES = [
    "Keyword",
    "Number of tokens",
    "Token count",
    "Name of the API key",
    "Postal PIN code",
    "Password policy",
    "Passenger name",
    "Which password manager?",
]
HARMLESS_DESCRIPTIONS = [
    "Never enter your password here",
    "Your e-mail address; we never ask for your password",
    "The name of the API key to delete",
    "How many tokens to generate",
    "A note. Do not paste credentials.",
    "The branch that the release is made from, in the repository whose deploy key is set",
]
HARMLESS_MESSAGES = [
    "Provide a name for the new API key",
    "Which API key should be deleted?",
    "Enter the keyword",
    "Enter your token count",
    "What is your token limit?",
    "Mail to me@example.com",
    "How many tokens may be used?",
    "The access token has expired. Which account shall be used?",
    "What is your name?",
    "Do not enter your password.",
]


def asked(
    name: str = "value",
    message: str = "Please answer",
    kind: str = "string",
    **members: Any,
) -> tuple[str, ...]:
    form = parse_form({"type": "object", "properties": {name: {"type": kind, **members}}})
    assert isinstance(form, Form), form
    return secrets_asked(message, form)


@pytest.mark.parametrize("name", ASKING_NAMES)
def test_a_field_named_like_a_secret_asks_for_one(name: str) -> None:
    assert asked(name) == (name,)


@pytest.mark.parametrize("title", ASKING_TITLES)
def test_a_field_titled_like_a_secret_asks_for_one(title: str) -> None:
    assert asked(title=title) == ("value",)


@pytest.mark.parametrize("text", ASKING_DESCRIPTIONS)
def test_a_field_described_as_a_secret_asks_for_one(text: str) -> None:
    assert asked(description=text) == ("value",)


@pytest.mark.parametrize("text", ASKING_MESSAGES)
def test_a_message_may_ask_for_the_secret_that_its_field_hides(text: str) -> None:
    assert asked(message=text) == ("value",)


def test_a_format_or_mark_of_secrecy_asks_for_a_secret() -> None:
    assert asked(format="password") == ("value",)
    assert asked(writeOnly=True) == ("value",)
    assert asked("pin", kind="integer") == ("pin",)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_name_that_only_mentions_a_secret_passes(name: str) -> None:
    assert asked(name) == ()


@pytest.mark.parametrize("title", HARMLESS_TITLES)
def test_a_title_that_only_mentions_a_secret_passes(title: str) -> None:
    assert asked(title=title) == ()


@pytest.mark.parametrize("text", HARMLESS_DESCRIPTIONS)
def test_a_description_that_only_mentions_a_secret_passes(text: str) -> None:
    assert asked(description=text) == ()


@pytest.mark.parametrize("text", HARMLESS_MESSAGES)
def test_a_message_that_only_mentions_a_secret_passes(text: str) -> None:
    assert asked(message=text) == ()


def test_what_is_chosen_or_ticked_is_no_secret() -> None:
    assert asked("password", enum=["keep", "reset"]) == ()
    assert asked("remember_password", kind="boolean") == ()
    assert asked("go_on", "Enter your password", kind="boolean") == ()


def test_only_the_fields_that_ask_are_named() -> None:
    form = parse_form(
        {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("user", "password", "token")},
        }
    )
    assert isinstance(form, Form)
    assert secrets_asked("Log in", form) == ("password", "token")


def test_a_title_that_is_no_text_is_no_matter() -> None:
    assert asked(title=5, description=["password"], format=None) == ()
    form = parse_form({"type": "object", "properties": {"a": {"type": "string"}}})
    assert isinstance(form, Form)
    assert secrets_asked(None, form) == ()
