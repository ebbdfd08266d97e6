"""Short and long names of the same thing: services, languages, formats and what programs deal with.

A table of our own, written from general knowledge of how people abbreviate; each line is a group.
`google+drive` are two words that stand side by side, in either spelling.
"""

from collections.abc import Callable, Mapping
from typing import Final

_TABLE: Final = """
gh github | gl gitlab | bb bitbucket | hf hugging+face | npm node+package | gdrive google+drive |
gcal google+calendar | gsheet gsheets google+sheet google+sheets |
gdoc gdocs google+doc google+docs | gslides google+slides | gform gforms google+forms |
gmap gmaps google+map google+maps | gmail google+mail | gplay google+play play+store |
gcp google+cloud | gcs cloud+storage | bq big+query | gtm tag+manager | ga ga4 google+analytics |
gsc search+console | gads google+ads | gkeep google+keep | k8s kubernetes kube kubectl |
tf terraform | aks azure+kubernetes | ddb dynamo+db | cw cloud+watch | r53 route53 |
sfn step+functions | mongo mongo+db | pg psql postgres postgresql postgre+sql | mssql sql+server |
maria maria+db | es elastic+search | sb supabase | js javascript java+script |
ts typescript type+script | py python | rb ruby | golang go | rs rust | kt kotlin | sh bash shell |
md markdown | vscode vsc vs+code visual+studio | o365 m365 office365 | ms msft microsoft |
ppt pptx power+point | xls xlsx excel | docx word | onedrive one+drive | msteams microsoft+teams |
spo share+point | pbi power+bi | yt you+tube | ig insta instagram | fb facebook | tw twitter |
li linked+in | tg telegram | wa whats+app | dc discord | ddg duck+duck | wiki wikipedia |
sf sfdc sales+force | hs hub+spot | zd zen+desk | qb qbo quick+books | wp word+press |
woo woo+commerce | asc store+connect | cf cloud+flare | dd datadog data+dog | nr new+relic |
ff firefox | rpi raspberry raspberry+pi | osm open+street | gpt chat+gpt | oai open+ai |
db database | repo repository | pr pull+request | mr merge+request | env environment |
cfg config configuration | auth authentication | pwd passwd password | msg message | img image |
vid video | pic picture | doc document | dir directory | addr address | num number |
calc calculator calculate | info information | perm permission | param parameter |
org organization | dept department | mgr manager | emp employee | txn transaction | acct account |
qty quantity | desc description | notif notification | stat statistic | lang language |
lib library | pkg package | cmd command | exec execute | del delete | rm remove | ls list |
mv move | cp copy | mkdir create+directory create+folder make+directory |
rmdir delete+directory remove+directory | vm virtual+machine | todo to+do | llm language+model |
btc bitcoin | eth ethereum | fx forex foreign+exchange | temp temperature | avg average |
diff difference | regex regexp regular+expression | spec specification | admin administrator |
tz timezone time+zone | postal+code zip+code | 2fa mfa | usd dollar | eur euro |
snow snowflake | max maximum | min minimum | ocr text+recognition | tts speech+synthesis |
hass home+assistant | ps pwsh power+shell
"""


def short_names(stem: Callable[[str], str]) -> Mapping[str, tuple[str, ...]]:
    """By term: the terms that are other names of the same, in the order of the table.

    Two words side by side are their joined form here.
    """
    found: dict[str, dict[str, None]] = {}
    for group in _TABLE.split("|"):
        terms = dict.fromkeys(stem(name.replace("+", "")) for name in group.split())
        for one in terms:
            found.setdefault(one, {}).update(terms)
    return {one: tuple(other for other in alike if other != one) for one, alike in found.items()}
