"""Tools are found by words, whatever form, language or spelling of an identifier they come in."""

from collections.abc import Mapping
from typing import Any

from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.core.search.diversity import ranked
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.merged import MergedIndex
from toolcrib.core.search.segment import Segment
from toolcrib.core.search.walks import walks_of
from toolcrib.testing.store_rig import item_of, snapshot_of

STEM = EnglishStemmer()
LEXICON = Lexicon(STEM)

Tools = Mapping[str, str | Mapping[str, Any]]
"""By name: the description, or all members of the definition."""


def segment(server: str, tools: Tools, texts: ServerTexts | None = None) -> Segment:
    items = [
        item_of({"name": name, **({"description": it} if isinstance(it, str) else it)})
        for name, it in tools.items()
    ]
    return Segment.build(server, snapshot_of(*items), LEXICON, texts)


def index(servers: Mapping[str, Tools]) -> MergedIndex:
    merged = MergedIndex()
    for server, tools in servers.items():
        merged.put(segment(server, tools))
    return merged


def found(merged: MergedIndex, query: str, most: int = 10) -> list[str]:
    scores = merged.scores(LEXICON.question(query))
    return [key for (_, key), _ in ranked(scores, most)]


def firsts(tools: Tools, *queries: str) -> list[str | None]:
    """What is found first for each query among the tools of one server."""
    merged = index({"s": tools})
    return [(found(merged, query) or [None])[0] for query in queries]


# ---- languages ----

OFFICE: Tools = {
    "make_invoice": "开具发票并发送给客户",
    "book_room": "预订会议室",
    "read_xlsx": "读取excel表格",
    "translate": "把文本翻译成其他语言",
}


def test_tools_described_in_chinese_are_found_by_chinese_words() -> None:
    queries = ("发票", "请帮我订一个会议室", "翻译这段话", "读excel")
    assert firsts(OFFICE, *queries) == ["make_invoice", "book_room", "translate", "read_xlsx"]


def test_latin_words_inside_chinese_are_words_in_any_case() -> None:
    assert firsts(OFFICE, "EXCEL", "打开Excel文件") == ["read_xlsx"] * 2


def test_a_chinese_query_finds_tools_that_are_described_in_english() -> None:
    tools = {
        "get_forecast": "Weather of the coming days for a city.",
        "send_message": "Send an email to somebody.",
        "search_papers": "Search scientific papers by topic.",
    }
    queries = ("明天上海天气怎么样", "给老板发送邮件", "查找关于氢能的论文")
    assert firsts(tools, *queries) == ["get_forecast", "send_message", "search_papers"]


def test_an_english_query_finds_tools_that_are_described_in_chinese() -> None:
    tools = {"tool_a": "查询火车票余票", "tool_b": "生成思维导图", "tool_c": "股票行情"}
    queries = ("train tickets", "mind map", "stocks")
    assert firsts(tools, *queries) == ["tool_a", "tool_b", "tool_c"]


def test_scripts_without_spaces_are_found_by_parts_of_a_phrase() -> None:
    tools = {"a": "ファイルを翻訳します", "b": "파일을 검색합니다", "c": "ค้นหาเที่ยวบิน"}
    assert firsts(tools, "翻訳", "검색", "เที่ยวบิน") == ["a", "b", "c"]


def test_a_query_of_one_character_that_stands_alone_finds_its_tool() -> None:
    assert firsts({"a": "図 を描く", "b": "文 を書く"}, "図") == ["a"]


def test_accents_may_be_left_out() -> None:
    tools = {"a": "Résumé du café", "b": "Zusammenfassung"}
    assert firsts(tools, "resume cafe", "CAFÉ") == ["a", "a"]


# ---- identifiers ----


def test_identifiers_without_descriptions_are_found_by_the_words_in_them() -> None:
    tools: Tools = {
        "crm_v3_contactGroup_merge": {},
        "parseYAMLDocument": {},
        "HTMLToPDF": {},
        "listOpenPRs": {},
        "oauth2TokenRefresh": {},
        "kebab-case-rename": {},
        "dotted.path.resolve": {},
    }
    queries = {
        "contact group": "crm_v3_contactGroup_merge",
        "yaml document": "parseYAMLDocument",
        "html pdf": "HTMLToPDF",
        "open PR": "listOpenPRs",
        "refresh oauth token": "oauth2TokenRefresh",
        "rename kebab": "kebab-case-rename",
        "resolve path": "dotted.path.resolve",
    }
    assert firsts(tools, *queries) == list(queries.values())


def test_short_names_of_letters_and_digits_stay_whole() -> None:
    tools: Tools = {"k8s_apply": {}, "upload_to_s3": {}, "mp3_cut": {}, "step_8_of_3": {}}
    assert firsts(tools, "k8s", "s3", "mp3") == ["k8s_apply", "upload_to_s3", "mp3_cut"]
    assert found(index({"s": {"grid_4x4": {}, "x4_4": {}}}), "4x4") == ["grid_4x4"]


def test_words_with_digits_are_found_inside_identifiers() -> None:
    queries = {
        "2fa code": "parse2FACode",
        "s3 bucket": "listS3Buckets",
        "ipv6 address": "getIPv6Address",
        "x509": "read_X.509",
        "k8s pods": "listK8sPods",
        "oauth": "getOAuth2Token",
        "mp3 to wav": "convertMp3ToWav",
    }
    tools: Tools = {
        name: {}
        for name in (*queries.values(), "code2", "bucket_3_s", "address_6", "read509", "pods_8")
    }
    assert firsts(tools, *queries) == list(queries.values())
    assert found(index({"s": tools}), "2fa") == ["parse2FACode"]
    assert found(index({"s": tools}), "s3") == ["listS3Buckets"]


def test_several_names_of_one_service_find_it() -> None:
    tools = {
        "scale": "Scale a kubernetes workload.",
        "query": "Run a query on postgresql.",
        "open": "Open a powerpoint file.",
        "post": "Post a tweet.",
    }
    queries = ("k8s", "postgres", "pptx slides", "publish on twitter")
    assert firsts(tools, *queries) == ["scale", "query", "open", "post"]


# ---- forms of words ----

FORMS: Tools = {
    "list_branches": "List branches",
    "watch_queue": "Watch a queue for entries",
    "archive_policy": "Archives the policy",
    "categorize_box": "Puts a box in a category",
}


def test_plurals_and_singulars_find_each_other() -> None:
    queries = ("branch", "queues", "policies", "boxes", "categories")
    expected = ["list_branches", "watch_queue", "archive_policy"] + ["categorize_box"] * 2
    assert firsts(FORMS, *queries) == expected


def test_gerunds_and_past_forms_find_the_verb() -> None:
    queries = ("archiving", "watching it", "categorizing", "listed")
    expected = ["archive_policy", "watch_queue", "categorize_box", "list_branches"]
    assert firsts(FORMS, *queries) == expected


def test_a_synonym_finds_a_tool_and_the_word_itself_comes_first() -> None:
    tools = {"erase_disk": "Wipes it.", "remove_disk": "Takes it out.", "mount": "Mounts it."}
    assert found(index({"s": tools}), "remove") == ["remove_disk", "erase_disk"]


def test_what_people_say_around_a_request_changes_nothing() -> None:
    merged = index({"s": {**FORMS, "help_me": "please, I want to know"}})
    bare = merged.scores(LEXICON.question("archive policy"))
    polite = merged.scores(
        LEXICON.question("Hi, I'd like to know, could you please help me: archive the policy?")
    )
    assert polite == bare
    assert bare


def test_chatter_that_is_part_of_a_name_counts_there() -> None:
    tools = {"git_log": "Git commits.", "git_show": "Git commits.", "git_add": "Git commits."}
    assert firsts(tools, "git show", "show me the git log") == ["git_show", "git_log"]


def test_a_query_of_nothing_but_chatter_is_asked_as_it_is() -> None:
    assert firsts({"git_show": {}, "git_log": {}}, "show", "tell me") == ["git_show", None]


def test_a_name_that_a_synonym_says_comes_before_one_that_it_does_not_say() -> None:
    tools: Tools = {"read": {}, "fish": {"title": "Read", "description": "Read."}}
    assert firsts(tools, "load") == ["read"]


# ---- words together and apart, long and short ----


def test_a_word_finds_a_name_that_has_it_as_two() -> None:
    tools: Tools = {"power_point_open": {}, "checkOutBranch": {}, "x_y_z": {}}
    queries = ("powerpoint", "powerpoints", "checkout", "xy")
    assert firsts(tools, *queries) == [
        "power_point_open",
        "power_point_open",
        "checkOutBranch",
        None,
    ]


def test_a_word_finds_a_server_whose_name_has_it_as_two() -> None:
    merged = index({"hugging-face": {"models": {}}, "face": {"hug": {}}})
    assert found(merged, "huggingface") == ["models"]
    titled = MergedIndex()
    titled.put(segment("s1", {"ask": {}}, ServerTexts(title="Stack Overflow")))
    assert found(titled, "stackoverflow") == ["ask"]


def test_two_words_find_a_name_that_has_them_as_one() -> None:
    merged = index({"stackoverflow": {"ask": {}}, "quickbooks": {"pay": {}}})
    assert found(merged, "stack overflow") == ["ask"]
    assert found(merged, "quick books") == ["pay"]
    assert found(merged, "quick, books") == ["pay"]


def test_short_and_long_names_find_each_other() -> None:
    servers: dict[str, Tools] = {
        "google-drive": {"find": {}},
        "gh": {"star": {}},
        "mongodb": {"query": {}},
    }
    merged = index(servers)
    pairs = {"gdrive": "find", "github": "star", "mongo": "query", "mongo db": "query"}
    assert [found(merged, query) for query in pairs] == [[name] for name in pairs.values()]
    assert found(index({"gdrive": {"find": {}}}), "google drive") == ["find"]


# ---- where a word stands ----


def test_a_word_in_the_name_counts_more_than_one_in_the_description() -> None:
    tools = {"b_convert": "It does it.", "a_other": "Something that may convert."}
    assert firsts(tools, "convert") == ["b_convert"]


def test_titles_parameters_their_texts_and_their_choices_are_found() -> None:
    def with_property(name: str, **schema: Any) -> Mapping[str, Any]:
        return {"inputSchema": {"type": "object", "properties": {name: schema}}}

    tools: Tools = {
        "t1": {"title": "Invoice archive"},
        "t2": {"annotations": {"title": "Ledger export"}},
        "t3": with_property("latitude", type="number"),
        "t4": with_property("x", description="The pressure of a tyre"),
        "t5": with_property("x", enum=["harpsichord", "lute"]),
    }
    queries = ("invoice", "ledger", "latitude", "tyre pressure", "harpsichord")
    assert firsts(tools, *queries) == ["t1", "t2", "t3", "t4", "t5"]


def test_what_is_known_of_a_server_finds_its_tools() -> None:
    merged = MergedIndex()
    texts = ServerTexts("Acme Freight", "Everything about parcels and pallets.")
    merged.put(segment("acme", {"track": "Where is it now"}, texts))
    merged.put(segment("other", {"watch": "Where is it now"}))
    for query in ("acme", "freight", "pallet"):
        assert found(merged, query) == ["track"]


def test_the_tool_whose_whole_name_is_asked_for_comes_first() -> None:
    tools = {
        "create_issue": "Makes one.",
        "create_issue_comment_reaction": "Create issue things: issue create.",
    }
    assert firsts(tools, "create issue") == ["create_issue"]


def test_words_side_by_side_as_in_the_query_count_more() -> None:
    tools = {"a": "market price, stock of goods, list", "b": "list of goods, stock price, market"}
    assert firsts(tools, "stock price") == ["b"]


def test_of_two_tools_alike_the_one_comes_first_whose_server_has_more_that_fits() -> None:
    merged = index(
        {
            "desk": {"extend": "Extend a loan."},
            "libs": {"extend": "Extend a loan.", "loan_book": "Loan a book from the shelf."},
        }
    )
    scores = merged.scores(LEXICON.question("loan a book and extend the loan"))
    tools = [tool for tool, _ in ranked(scores, 3)]
    assert tools == [("libs", "loan_book"), ("libs", "extend"), ("desk", "extend")]


def test_a_query_of_several_steps_finds_a_tool_for_each() -> None:
    tools = {
        "get_rate": "Exchange rate of two currencies.",
        "draw_pie": "Draw a pie chart of values.",
        "expense_report_values": "Draw up values of expenses, rate them, report them.",
        "rate_chart": "Values of expenses",
    }
    query = "Look up the exchange rate of the euro. Then draw a pie chart of my expenses."
    assert set(found(index({"s": tools}), query, 3)) >= {"get_rate", "draw_pie"}


# ---- bounds and order ----


def test_a_query_without_words_or_without_known_words_finds_nothing() -> None:
    merged = index({"s": FORMS})
    for query in ("", "   ", "?!", "the of and", "zzyzx", "\x00", "\ud800", "'"):
        assert found(merged, query) == []
    assert found(MergedIndex(), "branch") == []


def test_a_huge_query_is_looked_at_in_part_only() -> None:
    words = " ".join(f"word{n}x" for n in range(5_000))
    question = LEXICON.question(f"branch {words}. " * 3)
    assert LEXICON.question(" " * 1_000 + "branch").written == frozenset()
    assert len(question.written) <= 64
    assert len(question.pairs) <= 64
    assert len(question.parts) <= 8
    assert found(index({"s": FORMS}), f"branch {words}")[0] == "list_branches"


def test_equal_scores_are_ordered_by_server_and_name_whatever_came_first() -> None:
    tools = {"copy_yy": "Copy.", "copy_xx": "Copy."}
    servers: Mapping[str, Tools] = dict.fromkeys(("zz", "Bb", "aa", "éé"), tools)
    orders = [servers, dict(reversed(list(servers.items())))]
    answers = [ranked(index(order).scores(LEXICON.question("copies")), 8) for order in orders]
    assert answers[0] == answers[1]
    assert [tool for tool, _ in answers[0]] == [
        (server, key) for server in ("Bb", "aa", "zz", "éé") for key in ("copy_xx", "copy_yy")
    ]


def test_only_tools_of_the_wanted_servers_are_found() -> None:
    merged = index({"one": {"copy": "Copy."}, "two": {"copy": "Copy."}})
    scores = merged.scores(LEXICON.question("copy"), {"two", "unknown"})
    assert [doc.tool for doc in scores] == [("two", "copy")]


def test_a_change_of_a_wanted_server_is_found_by_the_next_search() -> None:
    merged = index({"one": {"copy": "Copy."}, "two": {"copy": "Copy."}})
    for key in ("before", "copy_of_it", "copies"):
        merged.put(segment("two", {key: "Copy."}))
        scores = merged.scores(LEXICON.question("copy"), {"two"})
        assert [doc.tool for doc in scores] == [("two", key)]


def test_no_answer_is_longer_than_wanted() -> None:
    merged = index({"s": {f"copy_{n:02}": "Copy." for n in range(30)}})
    assert [len(found(merged, "copy", most)) for most in (-1, 0, 1, 7, 50)] == [0, 0, 1, 7, 30]


def test_a_long_question_leaves_out_what_tells_least_in_a_large_catalog() -> None:
    tools = {f"t{n}x": "alpha beta gamma delta" for n in range(9_000)}
    merged = index({"s": {**tools, "only": "unique alpha"}})
    question = LEXICON.question("alpha beta gamma delta unique")
    walked = [posting for _, posting in walks_of(question, merged, 20_000)]
    assert [len(posting.docs) for posting in walked] == [1, 9_000, 9_000]
    assert found(merged, "alpha beta gamma delta unique")[0] == "only"
    assert len(found(merged, "alpha")) == 10


def test_one_term_is_looked_up_however_many_tools_have_it() -> None:
    merged = index({"s": {f"t{n}x": "alpha" for n in range(5)}})
    walked = walks_of(LEXICON.question("alpha"), merged, 3)
    assert [len(posting.docs) for _, posting in walked] == [5]


# ---- keyword stuffing ----

HONEST: Mapping[str, Tools] = {
    "weather": {"get_forecast": "Weather forecast for a city."},
    "mail": {"send_mail": "Send a mail to a person."},
    "files": {"read_file": "Read a file from the disk."},
    "git": {"commit_change": "Commit a change to a repository."},
}
WORDS = "weather forecast city send mail person read file disk commit change repository"
QUERIES = {
    "weather forecast for Paris": "get_forecast",
    "send a mail": "send_mail",
    "read a file": "read_file",
    "commit my change": "commit_change",
}


def test_a_server_that_repeats_every_keyword_comes_first_for_none_of_them() -> None:
    repeated = {f"best_{n}": f"{WORDS} " * 40 for n in range(50)}
    merged = index({**HONEST, "aaa": repeated})
    assert [found(merged, query)[0] for query in QUERIES] == list(QUERIES.values())


def test_keywords_in_a_name_or_in_parameters_do_not_win_either() -> None:
    schema = {"properties": {word: {"description": WORDS} for word in WORDS.split()}}
    stuffed: Tools = {
        f"{WORDS.replace(' ', '_')}_{n}": {"description": WORDS, "inputSchema": schema}
        for n in range(50)
    }
    merged = index({**HONEST, "aaa": stuffed})
    assert [found(merged, query)[0] for query in QUERIES] == list(QUERIES.values())


def test_copies_of_one_tool_leave_room_for_other_servers() -> None:
    copies = {f"get_forecast_{n:02}": f"Weather forecast {n} for a city." for n in range(50)}
    others = {f"w{n}": {"outlook": "Weather forecast, in a few words."} for n in range(4)}
    merged = index({"aaa": copies, **others})
    answer = ranked(merged.scores(LEXICON.question("weather forecast")), 10)
    servers = [tool[0] for tool, _ in answer]
    assert servers[:5] == ["aaa", "w0", "w1", "w2", "w3"]
    assert len(answer) == 10, "room that nobody else takes is theirs"
    alone = ranked(index({"aaa": copies}).scores(LEXICON.question("weather forecast")), 10)
    assert [key for (_, key), _ in alone] == [f"get_forecast_{n:02}" for n in range(10)]


WAYS = ["sea", "hill", "lake", "wood", "field", "road", "coast", "town", "moor", "isle"]


def test_from_the_sixth_tool_of_a_server_on_others_that_fit_as_well_come_first() -> None:
    tools = {f"forecast_{way}": f"Weather forecast {way}." for way in WAYS}
    merged = index(dict.fromkeys(("aaa", "bbb"), tools))
    servers = [tool[0] for tool, _ in ranked(merged.scores(LEXICON.question("forecast")), 10)]
    assert (servers.count("aaa"), servers.count("bbb")) == (5, 5)


def test_tools_that_differ_by_more_than_a_number_are_no_copies() -> None:
    ways = {"forecast_hill": "Weather forecast.", "forecast_lake": "Weather forecast."}
    bare = {"scan": "", "scans": ""}
    for tools, query in ((ways, "weather forecast"), (bare, "scan")):
        answer = ranked(index({"s": tools}).scores(LEXICON.question(query)), 2)
        assert answer[0][1] == answer[1][1], "nor is what says too little to compare"


def test_nothing_counts_less_than_half_however_many_come_before_it() -> None:
    tools = {f"scan_{n:02}": "Scan a page of paper." for n in range(60)}
    scores = index({"s": tools}).scores(LEXICON.question("scan"))
    answer = ranked(scores, 60)
    assert len(answer) == 60
    assert answer[-1][1] == answer[0][1] / 2


def test_long_texts_of_one_server_do_not_change_the_scores_of_anothers_tools_by_length() -> None:
    short, long = ("noise " * 3, "noise " * 3_000)
    question = LEXICON.question("weather forecast")
    scores = [
        {
            doc.tool: score
            for doc, score in index({**HONEST, "x": {"x": text}}).scores(question).items()
        }
        for text in (short, long)
    ]
    assert scores[0] == scores[1]


def test_scores_never_grow_along_an_answer() -> None:
    tools = {f"copy_{n}": "Copy a file." * n for n in range(1, 12)}
    merged = index({"s": tools, "t": {"copy": "Copy."}})
    scores = [score for _, score in ranked(merged.scores(LEXICON.question("copy file")), 12)]
    assert scores == sorted(scores, reverse=True)
