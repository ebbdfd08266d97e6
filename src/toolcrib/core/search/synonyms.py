"""Words that mean about the same where tools are concerned.

A table of our own, written from general knowledge of what servers offer; each line is a group. A
word may stand in several groups, and what is alike is not passed on from group to group.
"""

from collections.abc import Callable, Mapping
from typing import Final

_TABLE: Final = """
load read | open launch start | insert put add |
get fetch retrieve read obtain | create make add new build | generate create produce compose |
delete remove erase drop clear | update modify edit change | list show enumerate display |
search find lookup query discover | send post deliver | run execute start launch |
stop cancel terminate abort | copy duplicate clone | move rename | convert transform |
check verify validate | calculate compute | draw plot | buy purchase order | schedule plan |
analyze examine inspect | compare versus | recommend suggest | join merge combine |
image picture photo | document doc word docx | excel spreadsheet xlsx |
powerpoint presentation slide ppt pptx | directory folder | email mail | movie film cinema |
car vehicle automobile | job career vacancy | stock share equity | weather forecast temperature |
price cost | song music track | recipe cooking | flight airline | hotel accommodation lodging |
house home property | translate translation | kubernetes k8s | database db | repository repo |
website site webpage | crypto cryptocurrency bitcoin | currency forex | news headline |
paper article publication | chart graph diagram | visualize chart | trip travel vacation itinerary |
restaurant dining | workout exercise fitness | company business firm | phone mobile |
lawyer legal law | medicine drug medication | doctor physician | summary summarize |
quote quotation | message chat | user account | person people | location place address |
map route direction | event calendar meeting | task todo | book novel | video clip |
audio sound voice | gift present | product item goods | game gaming | team club | match fixture |
score result | tax income | loan mortgage | shop store | coupon discount deal |
course lesson tutorial | learn study education | student school university | code program script |
bug issue | postgres postgresql | javascript js | typescript ts | environment env |
configuration config setting | authentication auth login | picture image | password credential |
restaurant food meal dish | food nutrition diet | weight calorie diet | airport flight |
train railway rail | bus transit | parking park | ticket booking reservation book |
beach hiking outdoor | outfit fashion clothing clothes wear | shoe footwear |
beauty makeup cosmetic skincare | furniture decor interior | pet dog cat animal | baby child kid |
family genealogy | bible scripture verse religion | astrology horoscope zodiac | tarot fortune |
dream sleep | joke humor funny | poem poetry | story tale narrative | logo brand branding |
art artwork painting | museum exhibition gallery | avatar cartoon | 3d cad | math equation solve |
algebra math | physics science | chemistry molecule compound | gene protein genome |
vulnerability cve security | domain dns whois | ip geolocation | ssl certificate | server host |
container docker | deploy deployment | cloud aws azure | commit git | branch git | test testing |
error exception bug | performance speed | seo keyword ranking | marketing advertising campaign |
ad advertisement | sale selling | customer client | review rating feedback |
investment investor portfolio | fund etf | finance financial | bank banking |
budget expense spending | money fund payment | pay payment | invoice bill | insurance policy |
salary wage | hire recruit recruitment | resume cv | interview candidate | contract agreement |
patent trademark | court case | election vote | government congress |
population demographic census | country nation | city town | zip postal postcode |
latitude longitude coordinate | distance mile kilometer | time clock timezone | date day |
today current | latest recent newest | popular trending top | history historical past |
password secret | qr barcode | link url | download export | upload import | screenshot capture |
browser web | scrape crawl extract | pdf document | markdown md | note memo | slide deck |
transcript subtitle caption | podcast episode | tv television show series | anime manga |
actor actress cast | director filmmaker | artist singer musician | album discography |
concert event | playlist track | stream streaming | youtube video | twitter tweet x | instagram ig |
tiktok douyin | facebook fb | post publish | follower subscriber | comment reply |
notification alert reminder | text sms | call dial | contact person | whatsapp message |
voice speech tts | speak speech | pronounce pronunciation | grammar proofread spelling |
dictionary definition meaning word | language linguistic | exam quiz test | teacher tutor |
homework assignment | research scholar academic | citation reference bibliography | pubmed medical |
patient clinical | disease illness condition | symptom diagnosis | drug pharmacy | hospital clinic |
soccer football | nba basketball | nfl football | f1 racing | player athlete |
league championship tournament | standing ranking table | odds bet betting | horse racing |
chess game | puzzle riddle | lottery lotto | earthquake disaster | air pollution quality |
sun solar sunrise | moon lunar | space nasa astronomy | plant garden gardening | farm agriculture |
energy electricity power | fuel gas petrol | vehicle vin | real estate property |
rent rental apartment | mortgage home | color colour palette | font typography | icon emoji |
map location | store shop market | cheap discount | alcohol drink cocktail | wine beer |
coffee tea | cook recipe chef | ingredient recipe | memory remember | knowledge wiki encyclopedia |
graph network | node vertex | relation relationship | sum add addition | subtract minus |
multiply product | divide division | average mean | table spreadsheet | row record | column field |
cell range | sheet worksheet | sql query | schema structure | ticket issue | project workspace |
team group | member user | permission access | role privilege | token credential | file attachment |
count number total | size length | filter select | sort order | shop shopping ecommerce |
cheap affordable | house apartment condo | holiday vacation | plane flight aircraft aviation |
cab taxi ride | eat restaurant dining | workout gym | yoga meditation mindfulness |
therapy mental counseling | stock trading invest | earnings revenue profit |
crypto blockchain token wallet | nft opensea | dividend yield | inflation economy economic gdp |
essay writing write | blog post article | rewrite paraphrase | slogan tagline | newsletter email |
infographic chart | flowchart diagram mermaid | mindmap brainstorm idea | photo wallpaper |
sticker emoji gif meme | trailer movie | chord guitar piano | concert gig | festival event |
hike trail | camp campsite | ski snow | surf wave tide | boat ship vessel | ev charging station |
bike bicycle cycling | parcel shipment package delivery | track tracking | postal mail |
barcode upc ean | receipt invoice | card credit | phone number | sms otp | vpn proxy |
encrypt encryption cipher decrypt | uuid guid | regex pattern | encode decode base64 |
minify compress zip | diff compare | cron schedule | memory ram | process pid | log audit |
metric monitor monitoring | trace span | incident outage status | build ci pipeline |
release version tag | package library dependency npm | docs documentation manual guide |
snippet example sample | lint format | mock fake dummy | localize translate |
countdown timer stopwatch | birthday age | inspiration motivation quote | fact trivia |
quran islamic prayer | flag country | convert conversion measurement unit | bmi calorie |
vaccine covid coronavirus | allergy ingredient | vet pet | flower plant |
star constellation astronomy | asteroid nasa | satellite orbit | storm hurricane tornado weather |
humidity rain precipitation weather | wind weather | ai gpt llm model | chatbot assistant |
prompt ai | scan scanner | print printer | sign signature | form survey questionnaire poll |
vote poll | donate donation charity | job hiring employer | coworker colleague employee staff |
boss manager | meeting conference zoom | calendar agenda | reminder todo | habit goal |
journal diary | article read | rumor gossip celebrity | horoscope star | kid child family |
date dating | wedding marriage | gift idea | recipe meal dinner lunch breakfast |
grocery supermarket | coupon promo voucher | brand logo company | website url domain | seo traffic |
backlink link | keyword tag | hashtag tag | influencer creator | thumbnail image |
background remove | crop resize | upscale enhance | caption alt | ocr text extract |
speech transcribe transcript | narration voice | sound effect | beat music | remix audio
"""


def synonyms(stem: Callable[[str], str], table: str = _TABLE) -> Mapping[str, tuple[str, ...]]:
    """By stem: the stems of words that mean about the same, in the order of the table.

    Args:
        stem: The stem of a word in lower case.
        table: Groups of words, between bars.
    """
    found: dict[str, dict[str, None]] = {}
    for group in table.split("|"):
        stems = dict.fromkeys(stem(word) for word in group.split())
        for one in stems:
            found.setdefault(one, {}).update(stems)
    return {one: tuple(other for other in alike if other != one) for one, alike in found.items()}
