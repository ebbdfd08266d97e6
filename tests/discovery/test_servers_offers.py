"""Which servers and skills fit what is wanted: by the words that tools are found by."""

import pytest

from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.discovery.servers import offers as offering
from toolcrib.discovery.servers.offers import Offer, OfferSearch

LEXICON = Lexicon(EnglishStemmer())
SEARCH = OfferSearch(LEXICON)


def offer(name: str, about: str = "", *tools: str, servers: tuple[str, ...] = ()) -> Offer:
    return Offer(name, about, tool_names=tools, servers=servers)


def found(query: str, *offers: Offer) -> list[str]:
    return [it.name for it in SEARCH.fitting(query, offers)]


OFFERS = (
    offer("letters", servers=("mail",)),
    offer("mail", "Email.", "send_message"),
    offer("maps", "Finds routes."),
    offer("db", "", "create_table", "dropTable"),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["db", "mail", "maps", "letters"]),
        ("the of and", ["db", "mail", "maps", "letters"]),
        ("mail", ["mail", "letters"]),
        ("emails", ["mail", "letters"]),
        ("messages", ["mail"]),
        ("createTable", ["db"]),
        ("tables", ["db"]),
        ("\u8def\u7ebf", ["maps"]),
        ("nothing here", []),
    ],
)
def test_offers_are_found_by_words_of_their_texts_names_and_tools(
    query: str, expected: list[str]
) -> None:
    assert found(query, *OFFERS) == expected


KINDS = (
    offer("wh", "Stock and suppliers."),
    offer("post", "Sends electronic mail."),
    offer("books", "Ledgers of the company."),
    offer("git", "Repositories and their pull requests."),
    offer("lager", "\u67e5\u8be2\u5e93\u5b58\u548c\u4f9b\u5e94\u5546"),
    offer("weather", "Forecasts for any town."),
    offer("power-point", "Slides."),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("inventory", "wh"),
        ("inventories", "wh"),
        ("what do we have in the warehouse", "wh"),
        ("get stock levels", "wh"),
        ("supplier", "wh"),
        ("email", "post"),
        ("emails", "post"),
        ("write an e-mail", "post"),
        ("\u90ae\u4ef6", "post"),
        ("accounting", "books"),
        ("bookkeeping", "books"),
        ("github", "git"),
        ("listRepositories", "git"),
        ("\u5e93\u5b58", "lager"),
        ("\u67e5\u4e00\u4e0b\u5e93\u5b58", "lager"),
        ("\u5929\u6c14", "weather"),
        ("temperature in Lisbon", "weather"),
        ("make a powerpoint", "power-point"),
        ("presentation", "power-point"),
    ],
)
def test_a_server_is_found_by_another_word_for_what_it_does(query: str, first: str) -> None:
    assert found(query, *KINDS)[:1] == [first]


def test_a_word_that_was_written_counts_more_than_another_for_the_same() -> None:
    offers = [offer("a", "Warehouse."), offer("b", "Inventory."), offer("c", "Nothing of it.")]
    assert found("inventory", *offers) == ["b", "a"]


def test_a_name_says_more_than_a_description_and_that_more_than_a_tool() -> None:
    offers = [offer("a", "", "invoice"), offer("b", "Every invoice."), offer("invoice", "Other.")]
    assert found("invoice", *offers) == ["invoice", "b", "a"]


def test_a_rare_word_decides() -> None:
    offers = [offer(f"s{n}", "data tools") for n in range(9)] + [offer("t", "geology of data")]
    assert found("data geology", *offers)[0] == "t"


def test_offers_that_fit_as_well_as_each_other_are_in_the_order_of_their_names() -> None:
    offers = [offer(name, "Does sums.") for name in ("c", "a", "b")]
    assert found("sums", *offers) == ["a", "b", "c"]


def test_the_words_of_an_offer_are_read_once() -> None:
    read: list[str] = []

    class Reading(Lexicon):
        def terms(self, text: str, most: int) -> list[str]:
            read.append(text)
            return super().terms(text, most)

    search = OfferSearch(Reading(EnglishStemmer()))
    search.fitting("stock", KINDS)
    assert read.count("Stock and suppliers.") == 1
    before = len(read)
    search.fitting("letters", KINDS)
    assert len(read) == before
    search.fitting("stock", [*KINDS[1:], offer("wh", "Something else.")])
    assert "Something else." in read[before:]
    assert "Slides." not in read[before:]


def test_of_a_server_with_tools_without_end_a_bounded_number_is_looked_at() -> None:
    most = offering._MOST_TOOLS  # pyright: ignore[reportPrivateUsage] - no answer names it
    names = ["tool"] * 100_000
    names[most - 1], names[most] = "thing", "matter"
    big = offer("big", "word " * 1_000_000 + "hidden", *names)
    assert found("thing", big) == ["big"]
    assert found("matter", big) == []
    assert found("hidden", big) == []
