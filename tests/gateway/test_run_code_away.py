"""Programs that import servers which cannot be used now: refused before anything of them runs.

In both languages with the same words: which server, why, and what can be done about it.
"""

import pytest

from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import CodeSettings, Language, Limits
from toolcrib.testing.coded_server import CodedServer, CodingHost, coded, text_of
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import server_settings

BOTH = CodeSettings(languages=("python", "typescript"))
IMPORTING: dict[Language, str] = {
    "python": "from shop import sell\nfrom far import go\nawait sell()\nawait go()",
    "typescript": 'import { sell } from "shop";\nimport { go } from "far";\nawait sell();',
}
CANNOT_BE_READ = "the tools of the server `far` cannot be read now: "
NO_REASON_YET = "the server was not reached so far"
NOT_ENABLED = (
    "there is no module `far`: the server `far` is not enabled: call enable_server for it first"
)


async def said(host: CodingHost, language: Language, code: str) -> str:
    """What is told of a program that failed."""
    result = await host.tool("run_code", code=code, language=language)
    assert result["isError"], result
    return text_of(result)


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_server_that_is_down_is_told_before_anything_runs(language: Language) -> None:
    shop, far = CodedServer({}, tool("sell")), CodedServer({}, tool("go"))
    far.faults.connect = UpstreamUnreachable("no route")
    servers, limits = {"shop": shop, "far": far}, Limits(start_seconds=0.2)
    async with coded(servers, limits=limits, code=BOTH) as (host, _):
        failed = await said(host, language, IMPORTING[language])
    line = IMPORTING[language].splitlines()[1]
    first, *others = failed.splitlines()
    assert first.partition(":")[0] == {"python": "script.py", "typescript": "script.ts"}[language]
    where, _, why = first.partition(CANNOT_BE_READ)
    assert (where[-4:], why in {"no route", NO_REASON_YET}) == (":2: ", True)
    assert others == [f"    {line}", "Nothing was executed."]
    assert shop.calls == []


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_server_that_has_to_be_enabled_is_told_with_the_remedy(language: Language) -> None:
    shop, far = CodedServer({}, tool("sell")), CodedServer({}, tool("go"))
    settings = {"far": server_settings("far", on_demand=True)}
    async with coded({"shop": shop, "far": far}, settings=settings, code=BOTH) as (_, gateway):
        host = CodingHost(gateway, handle="h" * 16)
        failed = await said(host, language, IMPORTING[language])
        assert f":2: {NOT_ENABLED}\n" in failed
        assert failed.endswith("Nothing was executed.")
        assert shop.calls == []
        await host.tool("enable_server", server="far")
        result = await host.tool("run_code", code=IMPORTING[language], language=language)
        assert not result.get("isError"), result
    assert shop.called == ["sell"]


async def test_a_program_that_only_speaks_of_such_a_server_runs() -> None:
    shop, far = CodedServer({}, tool("sell")), CodedServer({}, tool("go"))
    far.faults.connect = UpstreamUnreachable("no route")
    code = (
        'import { sell } from "shop";\n// import "far";\nconst said = `\nimport "far"\n`;\n'
        'if (said.length < 3) await import("fa" + "r");\nreturn await sell({ to: "far" });'
    )
    servers, limits = {"shop": shop, "far": far}, Limits(start_seconds=0.2)
    async with coded(servers, limits=limits, code=BOTH) as (host, _):
        result = await host.tool("run_code", code=code, language="typescript")
        assert text_of(result) == '{"to":"far"}'


@pytest.mark.parametrize("naming", ["`far`", '"fa" + String("r") /* far */'])
async def test_what_cannot_be_seen_before_is_told_in_the_same_words_at_the_import(
    naming: str,
) -> None:
    shop, far = CodedServer({}, tool("sell")), CodedServer({}, tool("go"))
    far.faults.connect = UpstreamUnreachable("no route")
    code = f'import {{ sell }} from "shop";\nawait sell();\nawait import({naming});'
    servers, limits = {"shop": shop, "far": far}, Limits(start_seconds=0.2)
    async with coded(servers, limits=limits, code=BOTH) as (host, _):
        failed = await said(host, "typescript", code)
    assert failed.startswith(f"TypeError: {CANNOT_BE_READ}")
    assert "1. `shop` `sell` (line 2) returned" in failed


async def test_a_module_that_is_there_under_another_servers_name_is_not_called_away() -> None:
    """`my-git` on demand would be the module `my_git`; that one is another server's."""
    ours, theirs = CodedServer({}, tool("go")), CodedServer({}, tool("go"))
    settings = {"my-git": server_settings("my-git", on_demand=True)}
    async with coded({"my_git": ours, "my-git": theirs}, settings=settings, code=BOTH) as (host, _):
        assert await host.value("import my_git\nreturn await my_git.go(x=1)") == {"x": 1}
    assert (len(ours.calls), len(theirs.calls)) == (1, 0)
