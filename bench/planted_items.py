"""Made-up tools, each with the one way to ask for it that its kind is about."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from item_names import camel_case
from toolcrib.discovery.evaluation.tasks import KnownTool

# Of each: how it is asked for, the name of its tool.
_DIGITS = """
2fa | parse2FACode
s3 | list_s3_buckets
k8s | getK8sPods
mp3 | convertMP3File
h264 | encode_h264_clip
ipv4 | getIPv4Route
ipv6 | checkIPv6Route
base64 | decodeBase64Blob
sha256 | hash_sha256_blob
md5 | computeMD5Sum
ec2 | list_ec2_instances
oauth2 | issueOAuth2Token
3d | print3DModel
x509 | validateX509Chain
i18n | translate_i18n_keys
a11y | audit_a11y_page
5g | scan5GNetwork
mp4 | exportMP4Clip
web3 | scan_web3_wallet
b2b | get_b2b_leads
p2p | shareP2PBlob
utf8 | readUTF8Blob
iso8601 | parseISO8601Date
rs232 | openRS232Port
m2m | sendM2MToken
hs256 | signHS256Token
co2 | get_co2_level
h2 | queryH2Database
r2 | upload_r2_object
v8 | setV8Flags
jpeg2000 | cropJPEG2000Image
4k | record4KStream
r18n | load_r18n_keys
u2f | registerU2FKey
log4j | auditLog4jVersion
7z | unpack7zArchive
"""

# One service a line: its tools are asked for by one of these names, and listed under the other.
_SERVICES = """
kubernetes | k8s
postgresql | postgres
twitter | x.com
github | gh
mongodb | mongo
google-drive | gdrive
google-calendar | gcal
google-sheets | gsheets
amazon-s3 | simple storage service
visual-studio-code | vscode
javascript-runtime | js runtime
typescript-compiler | ts compiler
microsoft-teams | ms teams
office-365 | o365
facebook | fb
instagram | ig
youtube | yt
wechat | weixin
feishu | lark
dingtalk | 钉钉
weibo | 微博
xiaohongshu | rednote
google-cloud | gcp
amazon-web-services | aws
elasticsearch | elastic search
hugging-face | huggingface
stack-overflow | stackoverflow
power-point | powerpoint
quick-books | quickbooks
active-directory | ad directory
"""

_LANGUAGES = """
book train ticket | 预订火车票
cancel hotel reservation | 取消酒店预订
query subway route | 查询地铁路线
send text message | 发送短信
translate legal contract | 翻译法律合同
generate bar chart | 生成柱状图
download song lyrics | 下载歌词
check air quality | 查看空气质量
calculate loan interest | 计算贷款利息
track parcel | 跟踪快递
pay electricity bill | 缴纳电费
renew library book | 续借图书
find parking lot | 查找停车场
convert currency | 换算货币
compress video | 压缩视频
recognize license plate | 识别车牌
reserve meeting room | 预约会议室
approve expense report | 审批报销单
export payroll | 导出工资表
upload medical record | 上传病历
search patent | 检索专利
predict earthquake | 预测地震
monitor server load | 监控服务器负载
restore database backup | 恢复数据库备份
delete duplicate photo | 删除重复照片
rename branch | 重命名分支
print invoice | 打印发票
scan qr code | 扫描二维码
play podcast | 播放播客
record phone call | 录制电话通话
recommend restaurant | 推荐餐厅
compare insurance | 比较保险
subscribe newsletter | 订阅新闻简报
register trademark | 注册商标
grade exam | 批改试卷
count calories | 统计卡路里
summarize novel | 总结小说
mute microphone | 静音麦克风
lock front door | 锁上前门
water garden plants | 给花园的植物浇水
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """A made-up tool, and how it is asked for."""

    kind: str
    query: str
    tool: KnownTool
    english: str = ""
    """What it does, of a tool that is asked for in another language than its own."""


def planted_as_they_are() -> tuple[Planted, ...]:
    """Acronyms with digits, services under another name, English tools asked for in Chinese."""
    return (*_digits(), *_services(), *_english())


def planted_in_chinese() -> tuple[Planted, ...]:
    """Tools whose only words are Chinese, asked for in English."""
    pairs = enumerate(_pairs(_LANGUAGES))
    return tuple(
        Planted("english", said, _tool(f"office{n % 8}", f"tool_{n:02}", f"{chinese}。"), said)
        for n, (said, chinese) in pairs
    )


def _digits() -> Iterator[Planted]:
    for n, (query, name) in enumerate(_pairs(_DIGITS)):
        yield Planted("digits", query, _tool(f"kit{n % 9}", name))


def _services() -> Iterator[Planted]:
    """Every service has the same tool: only its name tells it from the others."""
    for n, (one, other) in enumerate(_pairs(_SERVICES)):
        listed, said = (one, other) if n % 2 or not other.isascii() else (other, one)
        server = "-".join(listed.replace(".", " ").split())
        query = f"find records in {said.replace('-', ' ')}"
        yield Planted("services", query, _tool(server, "find_records", "Finds records."))


def _english() -> Iterator[Planted]:
    for n, (said, chinese) in enumerate(_pairs(_LANGUAGES)):
        words = said.split()
        name = "_".join(words) if n % 2 else camel_case(words)
        tool = _tool(f"bureau{n % 8}", name, f"{said.capitalize()}.")
        yield Planted("chinese", chinese, tool, said)


def _pairs(table: str) -> Iterator[tuple[str, str]]:
    for line in table.strip().splitlines():
        one, other = line.split(" | ")
        yield one, other


def _tool(server: str, name: str, description: str = "") -> KnownTool:
    definition: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
    if description:
        definition["description"] = description
    return KnownTool(f"{server}::{name}", server, name, definition)
