"""Chinese words that tools are about, and what they are in English.

A table of our own, written from general knowledge of what servers offer. It is no dictionary: what
it lacks is still found by the characters themselves.
"""

import re
from collections.abc import Iterator
from typing import Final

_CHATTER: Final = re.compile(
    "请问|请你|请帮|帮我|帮忙|麻烦你?|我想要?|我要|我需要|我的|给我|能不能|可不可以|可以|怎么样?|如何"
    "|什么|哪些|哪个|为什么|是否|有没有|一下|一个|一份|一些|这个|那个|以及|然后|并且|或者|如果|因为|所以"
    "|关于|进行|使用|[的了吗呢吧啊呀请把被]"
)
"""What a request contains whatever it is about."""


def phrases_of(run: str) -> Iterator[str]:
    """The parts of a run of Chinese characters between words that say nothing."""
    return (phrase for phrase in _CHATTER.split(run) if phrase)


def english_of(phrase: str) -> Iterator[str]:
    """The English words for what is found in a phrase, the longest entry first at each place."""
    at = 0
    while at < len(phrase):
        for size in range(min(_LONGEST, len(phrase) - at), 0, -1):
            meant = _ENGLISH.get(phrase[at : at + size])
            if meant is not None:
                yield from meant
                at += size
                break
        else:
            at += 1


_TABLE: Final = """
天气 weather | 气温 temperature | 预报 forecast | 邮件 email mail | 邮箱 email mail |
短信 sms message | 消息 message | 发送 send | 搜索 search | 查找 find search | 查询 query search |
查看 view get | 查一下 search query | 获取 get | 读取 read | 阅读 read | 写入 write |
保存 save write | 创建 create | 新建 create | 生成 generate | 制作 create make | 添加 add |
插入 insert add | 删除 delete remove | 移除 remove | 更新 update | 修改 modify edit | 编辑 edit |
移动 move | 复制 copy | 重命名 rename | 列出 list | 列表 list | 显示 show | 下载 download |
上传 upload | 打开 open | 关闭 close | 启动 start | 停止 stop | 运行 run | 执行 execute run |
安装 install | 转换 convert | 转成 convert | 换算 convert | 翻译 translate translation |
计算 calculate | 统计 statistics count | 分析 analyze analysis | 比较 compare |
对比 compare comparison | 总结 summarize summary | 摘要 summary | 推荐 recommend | 检查 check |
验证 validate verify | 测试 test | 调用 call | 解析 parse | 提取 extract | 合并 merge | 拆分 split |
压缩 compress | 解压 extract unzip | 加密 encrypt | 截图 screenshot | 录制 record | 播放 play |
预订 book | 购买 buy purchase | 支付 pay payment | 订阅 subscribe | 登录 login | 注册 register |
导航 navigate navigation | 点击 click | 填写 fill | 画 draw | 绘制 draw | 可视化 visualize chart |
设计 design | 文件 file | 文件夹 folder directory | 目录 directory | 路径 path | 文档 document |
文本 text | 表格 table spreadsheet | 单元格 cell | 工作表 worksheet sheet |
幻灯片 slide presentation | 演示文稿 presentation | 图片 image picture | 图像 image |
照片 photo image | 图标 icon | 图表 chart | 饼图 pie chart | 柱状图 bar column chart |
条形图 bar chart | 折线图 line chart | 散点图 scatter chart | 流程图 flowchart flow diagram |
思维导图 mind map | 雷达图 radar chart | 词云 word cloud | 视频 video | 音频 audio |
语音 voice speech | 音乐 music | 歌曲 song | 歌词 lyrics | 字幕 subtitle caption transcript |
电影 movie | 电视剧 tv show | 书籍 book | 小说 novel | 论文 paper article |
文献 paper literature reference | 参考文献 reference citation bibliography | 引用 citation |
作者 author | 期刊 journal | 新闻 news | 头条 headline | 热搜 trending hot | 热榜 trending |
热门 trending popular | 趋势 trend | 排行 ranking | 排名 ranking | 榜单 ranking list | 微博 weibo |
知乎 zhihu | 抖音 douyin | 哔哩哔哩 bilibili | 小红书 xiaohongshu | 豆瓣 douban | 百度 baidu |
必应 bing | 谷歌 google | 维基百科 wikipedia | 百科 wiki encyclopedia | 网页 webpage web page |
网站 website | 网址 url | 链接 link url | 浏览器 browser | 代码 code | 程序 program | 脚本 script |
函数 function | 仓库 repository | 分支 branch | 提交 commit | 拉取请求 pull request | 问题 issue |
数据 data | 数据库 database | 数据集 dataset | 模型 model | 接口 api | 服务器 server |
服务 service | 进程 process | 终端 terminal | 命令 command | 日志 log | 配置 config |
环境 environment | 组件 component | 页面 page | 按钮 button | 输入框 input | 标题 title heading |
段落 paragraph | 脚注 footnote | 页眉 header | 页脚 footer | 格式 format | 样式 style | 字体 font |
颜色 color | 模板 template | 教程 tutorial | 指南 guide | 示例 example | 报告 report | 笔记 note |
任务 task | 待办 todo | 日程 schedule calendar | 日历 calendar | 会议 meeting | 事件 event |
提醒 reminder | 时间 time | 日期 date | 时区 timezone | 今天 today | 明天 tomorrow |
昨天 yesterday | 当前 current | 最新 latest | 最近 recent | 实时 real time |
历史 history historical | 股票 stock | 股价 stock price | 基金 fund | 债券 bond | 期权 option |
财报 financial statement earnings | 财务 financial | 市值 market cap | 价格 price |
汇率 exchange rate | 货币 currency | 美元 usd dollar | 人民币 cny rmb | 欧元 euro | 黄金 gold |
比特币 bitcoin | 加密货币 crypto cryptocurrency | 收入 income revenue | 支出 expense | 税 tax |
余额 balance | 贷款 loan | 银行 bank | 投资 investment | 公司 company | 产品 product |
商品 product | 订单 order | 快递 delivery shipping | 酒店 hotel | 住宿 accommodation hotel |
民宿 listing accommodation | 航班 flight | 机票 flight ticket | 火车 train | 火车票 train ticket |
车票 ticket | 余票 ticket | 高铁 train | 车站 station | 地铁 subway | 出租车 taxi |
旅行 travel trip | 旅游 travel trip | 行程 itinerary trip | 景点 attraction | 餐厅 restaurant |
美食 food | 菜谱 recipe | 食谱 recipe | 做菜 cook recipe | 菜 dish recipe | 食物 food |
营养 nutrition | 地图 map | 位置 location | 地点 place location | 地址 address | 附近 nearby |
周边 nearby around | 路线 route direction | 距离 distance | 驾车 driving | 步行 walking |
骑行 cycling | 公交 transit bus | 城市 city | 国家 country | 经纬度 coordinates latitude longitude |
坐标 coordinates | 面积 area | 人口 population | 医疗 medical | 医学 medical | 药物 drug |
药品 drug | 疾病 disease | 症状 symptom | 健康 health | 医院 hospital | 医生 doctor | 基因 gene |
蛋白质 protein | 临床试验 clinical trial | 化学 chemical chemistry | 运动 sport exercise |
健身 fitness workout | 足球 football soccer | 篮球 basketball nba | 比赛 match game | 球队 team |
球员 player | 游戏 game | 英雄 hero | 角色 character | 魔兽 warcraft | 彩票 lottery |
星座 zodiac horoscope | 八字 bazi | 占卜 divination | 塔罗 tarot | 笑话 joke | 名言 quote |
单词 word | 英语 english | 中文 chinese | 语言 language | 学习 learn | 课程 course | 学校 school |
大学 university | 考试 exam | 学生 student | 工作 job work | 招聘 job recruit | 简历 resume |
求职 job | 法律 law legal | 专利 patent | 合同 contract | 政策 policy | 用户 user | 账号 account |
密码 password | 评论 comment review | 评分 rating score | 博物馆 museum | 艺术 art |
艺术品 artwork | 展览 exhibition | 馆藏 collection | 画作 painting artwork | 数学 math |
方程 equation | 求解 solve | 矩阵 matrix | 求和 sum | 平均 average mean | 最大 max maximum |
最小 min minimum | 随机 random | 数字 number | 单位 unit | 二维码 qr code | 条形码 barcode |
水印 watermark | 会员 member | 粉丝 follower | 视频号 channel | 频道 channel | 直播 live stream |
播客 podcast | 播放列表 playlist | 弹幕 comment | 转录 transcript transcribe |
知识图谱 knowledge graph | 知识库 knowledge base | 记忆 memory | 实体 entity | 关系 relation |
节点 node | 集群 cluster | 容器 container | 镜像 image | 部署 deploy | 音乐会 concert |
门票 ticket | 演出 show performance | 打车 taxi ride | 租车 car rental | 租房 rent apartment |
房价 house price | 房产 property | 外卖 food delivery | 优惠券 coupon | 折扣 discount |
促销 promotion | 物流 logistics shipping | 跟踪 track | 追踪 track | 监控 monitor | 告警 alert |
报警 alert | 定时 schedule cron | 倒计时 countdown | 计时 timer | 闹钟 alarm | 备份 backup |
恢复 restore | 同步 sync | 导入 import | 导出 export | 打印 print | 扫描 scan | 识别 recognize ocr |
人脸 face | 声音 sound voice | 朗读 speech tts | 文字 text | 文章 article | 诗歌 poem | 故事 story |
作文 essay writing | 写作 writing | 润色 polish rewrite | 改写 rewrite | 校对 proofread |
语法 grammar | 拼写 spelling | 拼音 pinyin | 字典 dictionary | 词典 dictionary | 成语 idiom |
公式 formula | 积分 integral | 导数 derivative | 概率 probability | 回归 regression | 聚类 cluster |
预测 predict forecast | 训练 train | 推理 inference | 提示词 prompt | 智能体 agent |
机器人 bot robot | 聊天 chat | 好友 friend | 联系人 contact | 通讯录 contact | 电话 phone call |
手机 phone mobile | 电脑 computer | 屏幕 screen | 窗口 window | 鼠标 mouse | 键盘 keyboard |
剪贴板 clipboard | 网络 network | 端口 port | 域名 domain | 证书 certificate | 防火墙 firewall |
漏洞 vulnerability | 安全 security | 权限 permission | 令牌 token | 密钥 key secret |
虚拟机 virtual machine vm | 云端 cloud | 存储 storage | 队列 queue | 缓存 cache | 索引 index |
字段 field column | 记录 record | 排序 sort | 筛选 filter | 过滤 filter | 分组 group |
标签 tag label | 分类 category classify | 关键词 keyword | 字数 word count | 字符 character |
版本 version | 发布 publish release | 回滚 rollback | 构建 build | 编译 compile | 调试 debug |
错误 error | 异常 exception error | 性能 performance | 审查 review | 工单 ticket issue |
项目 project | 团队 team | 部门 department | 员工 employee | 工资 salary | 发票 invoice |
报销 expense | 审批 approve approval | 签名 signature sign | 问卷 survey | 投票 vote poll |
保险 insurance | 体重 weight | 卡路里 calorie | 热量 calorie | 睡眠 sleep | 心率 heart rate |
冥想 meditation | 瑜伽 yoga | 跑步 running | 奥运 olympic | 世界杯 world cup | 联赛 league |
赔率 odds | 宠物 pet | 植物 plant | 地震 earthquake | 台风 typhoon | 空气质量 air quality |
湿度 humidity | 降雨 rain | 下雨 rain | 下雪 snow | 日出 sunrise | 月亮 moon | 太空 space |
卫星 satellite | 汽车 car vehicle | 车辆 vehicle | 加油站 gas station | 充电桩 charging station |
停车场 parking | 路况 traffic | 拥堵 traffic congestion | 护照 passport | 签证 visa |
时差 timezone
"""


def _entries() -> Iterator[tuple[str, tuple[str, ...]]]:
    for entry in _TABLE.split("|"):
        chinese, *english = entry.split()
        yield chinese, tuple(english)


_ENGLISH: Final = dict(_entries())
_LONGEST: Final = max(map(len, _ENGLISH))
