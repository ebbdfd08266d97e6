"""Words with digits in them: one word wherever they stand, found as people write them."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib.core.search.words import words


def said(text: str) -> list[str]:
    return list(words(text))


INSIDE = [
    ("parse2FACode", "2fa"),
    ("parse2faCode", "2fa"),
    ("enable2FA", "2fa"),
    ("get2FAToken", "2fa"),
    ("verify_2FA_code", "2fa"),
    ("2FA-setup", "2fa"),
    ("render3DModel", "3d"),
    ("set3D", "3d"),
    ("view_3d_model", "3d"),
    ("upscale4K", "4k"),
    ("check5GCoverage", "5g"),
    ("listS3Buckets", "s3"),
    ("s3Bucket", "s3"),
    ("S3URL", "s3"),
    ("describeEC2Instances", "ec2"),
    ("startEc2", "ec2"),
    ("putR2Object", "r2"),
    ("getF1Results", "f1"),
    ("getIPv6Address", "ipv6"),
    ("IPv4Address", "ipv4"),
    ("parseX509Certificate", "x509"),
    ("encodeH264Video", "h264"),
    ("listK8sPods", "k8s"),
    ("applyK8SManifest", "k8s"),
    ("loadI18nKeys", "i18n"),
    ("runE2ETests", "e2e"),
    ("b2bLeads", "b2b"),
    ("convertMp3ToWav", "mp3"),
    ("mp4Info", "mp4"),
    ("md5Hash", "md5"),
    ("getV2Users", "v2"),
]
"""Identifiers, and how people write the word with a digit that is in them."""

APART = [
    ("toUtf8String", "utf8"),
    ("decodeUTF8", "UTF-8"),
    ("computeSHA256Hash", "sha256"),
    ("ISO8601ToUnix", "iso 8601"),
    ("web3Wallet", "web3"),
    ("queryNeo4jGraph", "neo4j"),
    ("callGpt4o", "gpt-4o"),
    ("encodeBase64", "base64"),
    ("getOAuth2Token", "oauth2"),
    ("Html5Parser", "html5"),
    ("sendOffice365Mail", "office365"),
    ("getBet365Odds", "bet365"),
    ("listTop10Movies", "top 10"),
]
"""The same, of words that are taken for two wherever they stand."""


@pytest.mark.parametrize(("identifier", "written"), INSIDE)
def test_a_word_with_a_digit_inside_an_identifier_is_found_as_it_is_written(
    identifier: str, written: str
) -> None:
    assert said(written) == [written]
    assert written in said(identifier)


@pytest.mark.parametrize(("identifier", "written"), APART)
def test_a_name_with_a_number_inside_an_identifier_is_found_as_it_is_written(
    identifier: str, written: str
) -> None:
    parts, inside = said(written), said(identifier)
    assert len(parts) == 2
    assert parts in [inside[at : at + 2] for at in range(len(inside))]


SAME = [
    ("UTF-8", "utf8", "utf_8", "Utf8", "utf 8"),
    ("X.509", "x509", "X509", "x_509"),
    ("H.264", "h264", "H-264"),
    ("SHA-256", "sha256", "SHA256", "sha_256"),
    ("OAuth2", "oauth2", "OAuth 2", "oauth_2", "oauth-2"),
    ("getOAuth2Token", "get oauth 2 token", "get_oauth2_token"),
    ("base64", "Base64", "base-64", "BASE64"),
    ("toBase64String", "to base64 string", "to_base_64_string"),
    ("COVID-19", "covid19", "Covid19", "covid 19"),
    ("GPT-4", "gpt4", "GPT4", "gpt 4"),
    ("GPT-4o", "gpt4o"),
    ("MP3", "mp3", "Mp3", "mp-3"),
    ("MD5", "md5", "md_5", "Md5"),
    ("2nd", "2Nd"),
    ("HTML5", "html5", "html 5", "Html5"),
    ("3-D", "3D", "3d"),
    ("2-FA", "2fa", "2_fa"),
    ("python3", "Python 3", "python_3"),
    ("Office365Mail", "office 365 mail"),
    ("IPv6", "ipv6", "IPV6"),
    ("ISO-8601", "iso8601", "ISO8601"),
]
"""Ways to write one thing."""


@pytest.mark.parametrize("ways", SAME, ids=lambda ways: ways[0])
def test_one_thing_has_the_same_words_however_it_is_written(ways: tuple[str, ...]) -> None:
    assert {tuple(said(way)) for way in ways} == {tuple(said(ways[0]))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("top10", ["top", "10"]),
        ("top-10 movies", ["top", "10", "movies"]),
        ("list_top_10", ["list", "top", "10"]),
        ("app_table2", ["app", "table", "2"]),
        ("page1", ["page", "1"]),
        ("windows10", ["windows", "10"]),
        ("csv2json", ["csv", "2", "json"]),
        ("md2pdf", ["md", "2", "pdf"]),
        ("getHTTPStatus404", ["get", "http", "status", "404"]),
        ("mp3URL", ["mp3", "url"]),
        ("2023-01-05", ["2023", "01", "05"]),
        ("version 1.2.3", ["version", "1", "2", "3"]),
        ("1080p", ["1080", "p"]),
    ],
)
def test_what_reads_as_several_words_is_several(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "never"),
    [("parse2FACode", "fa"), ("getIPv6Address", "pv"), ("OAuth2", "auth"), ("B2BLeads", "b")],
)
def test_no_letters_are_left_over_that_mean_nothing(text: str, never: str) -> None:
    assert never not in said(text)


PIECE = st.sampled_from(["get", "Model", "URL", "2FA", "S3", "K8s", "utf8", "x", "42", "_", "-"])


@given(st.one_of(st.text(max_size=60), st.lists(PIECE, max_size=8).map("".join)))
@example("a.1" * 30)
@example("A1" * 40)
def test_no_text_breaks_it_and_no_letter_or_digit_is_lost(text: str) -> None:
    found = said(text)
    assert all(word and word == word.lower() for word in found)
    if text.isascii() and "'" not in text and len(text) < 60:
        whole = re.sub(r"[^a-z0-9]", "", text.lower())
        assert "".join(found) == whole
