# privacy: Chinese training sentences, simplified and traditional: templates and surnames of ours, given names made of usual characters, ordinary words of a dictionary.
# The format is that of english.py.
import random
import re

SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾萧田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛阎段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤康易乔赖文庄施洪柯倪章欧简纪凌温俞葛连颜翁詹游涂童阮齐岳梅左申关管祝柳古宁鲁毕骆路霍焦包辛裴曲靳祁项牛翟景单吉柴殷房艾尚解饶甘屈耿娄巫池蓝沙季成卓"
COMPOUND = "欧阳 司马 诸葛 上官 端木 司徒 慕容 令狐 尉迟 夏侯 皇甫 公孙 东方 南宫 轩辕 宇文 长孙 西门 申屠 钟离 闻人 澹台 淳于 范姜 张简".split()
GIVEN = "明伟芳娜敏静丽强磊军洋勇艳杰娟涛超秀霞平刚桂英华玉萍红玲芬燕梅兰珍莉琴素云莲真环雪荣爱妹香月莺媛瑞凡佳嘉琼勤珠贞莹茹晶妍茜秋珊莎锦黛青倩婷姣婉娴瑾颖露瑶怡婵雁蓓纨仪荷丹蓉眉君蕊薇菁梦岚苑婕馨瑗琰韵融园艺咏卿聪澜纯毓悦昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭凝晓欢霄枫芸菲寒伊亚宜可姬舒影荔枝思俊峰辉建国志文斌博宇浩轩泽洪雨辰子涵皓天翔龙鹏飞凯鑫宏哲豪家铭冠承恩宗翰彦廷柏品妤诗淑惠美贤德义仁礼智信达康健安邦民富贵福禄寿喜庆祥春夏冬东南西北山海江河川林森木火土金水石光新兴旺成功胜利永长久远大小中立正良善诚忠孝悌"
TITLES = "先生 小姐 女士 太太 老师 经理 医师 医生 教授 同学 主任 总经理 董事长 律师 师傅 阿姨 叔叔 课长 组长 护士 博士".split()
ROLES = "同事 客户 朋友 老板 室友 邻居 同学 老公 老婆 儿子 女儿 哥哥 姐姐 弟弟 妹妹 学生 助理 秘书 主管 班长 队友 实习生 男友 女友".split()
PLACES = "北京 上海 天津 重庆 台北 新北 桃园 台中 台南 高雄 基隆 新竹 嘉义 苗栗 彰化 南投 云林 屏东 宜兰 花莲 台东 澎湖 金门 香港 澳门 广州 深圳 杭州 南京 苏州 成都 武汉 西安 郑州 长沙 青岛 大连 沈阳 厦门 宁波 无锡 佛山 合肥 福州 济南 哈尔滨 长春 昆明 南宁 贵阳 太原 南昌 兰州 温州 珠海 东京 大阪 首尔 纽约 伦敦 巴黎 柏林 曼谷 新加坡".split()
COUNTRIES = "中国 美国 日本 韩国 英国 法国 德国 台湾 印度 泰国 越南 俄罗斯 加拿大 澳洲 巴西 意大利 西班牙 荷兰 瑞典".split()
DISTRICTS = "信义区 中山区 大安区 板桥区 三重区 中和区 永和区 新店区 左营区 三民区 前镇区 西屯区 北屯区 南屯区 东区 安平区 中坜区 竹北市 朝阳区 海淀区 西城区 东城区 浦东新区 徐汇区 静安区 黄浦区 天河区 越秀区 白云区 南山区 福田区 罗湖区 西湖区 江干区 武侯区 锦江区 渝中区 江岸区 鼓楼区 雁塔区 和平区 历下区".split()
ROADS = "中山 中正 民生 民权 民族 忠孝 仁爱 信义 和平 复兴 建国 光复 文化 文心 自由 成功 中华 博爱 四维 三多 五福 七贤 八德 九如 大同 人民 解放 建设 长江 黄河 南京 北京 上海 世纪 学院 科技 创新 滨江 湖滨 花园 幸福 友谊 和谐 胜利 团结 新华 朝阳 东风 红旗 延安 淮海 天河 体育 珠江 环市".split()
ORG_TAILS = "股份有限公司 有限公司 集团 银行 医院 大学 科技公司 国小 国中 高中 中学 基金会 事务所 诊所 出版社".split()
ORG_STEMS = "台积 鸿海 联发 华硕 宏碁 中华 国泰 富邦 玉山 长庚 台湾 清华 交通 北京 复旦 浙江 阿里巴巴 腾讯 华为 小米 百度 京东 美团 平安 招商 建设 农业 长荣 统一 大同 远东 永丰 第一 新光 东吴 和平 仁爱 慈济 万芳 协和 同济 瑞金 宏达 光明 金山 恒大 万科 天成 立信 明德 育才 启明".split()
FOREIGN = "约翰 玛丽 大卫 迈克尔 史密斯 威廉 詹姆斯 罗伯特 伊丽莎白 安娜 汤姆 杰克 彼得 保罗 露西 艾米莉 凯特 亚历山大 尼古拉 安德烈 弗拉基米尔 卡洛斯 玛利亚 索菲亚 布朗 琼斯 约翰逊 威尔逊 泰勒 安德森 托马斯 杰克逊 怀特 哈里斯 马丁 汤普森 加西亚 罗德里格斯 穆勒 施密特".split()

# P full name, X surname alone, G given name alone, Z foreign name, A address, O organisation, C place, N country; t title, r role;
# w two-character word, v verb, a adjective, d date, n number, h phone, m money, l Latin word.
TEMPLATES = """
我叫{P}，今年{n}岁。
我是{P}，我的电话是{h}。
你好，我是{O}的{P}。
请问{P}在吗？
{P}{t}您好：
{X}{t}您好，
亲爱的{P}：
亲爱的{X}{t}，
{P}昨天去{C}{v}了。
{P}说他不想{v}。
{P}和{P}一起{v}。
{P}、{P}、{P}都来了。
{P}的{w}很{a}。
我跟{P}说过{w}的事。
请把{w}交给{P}。
麻烦{P}帮我{v}。
我和{r}{P}去{C}{v}。
{r}{P}住在{A}。
我{r}{P}在{O}上班。
{P}住{A}
他住在{A}，电话{h}。
请寄到{A}，收件人{P}。
收件人：{P}~地址：{A}~电话：{h}
姓名：{P}~生日：{d}~地址：{A}
姓名：{P}
姓名 {P} 性别 男
姓名:{P},电话:{h}
联络人：{P}{t}
联系人：{P}（{h}）
患者{P}，{n}岁，主诉{w}。
患者姓名：{P}~主治医师：{P}
病患{P}因{w}住院。
{P}被诊断出{w}。
{P}患有{w}，需要{v}。
申请人：{P}
负责人{P}
会议记录~出席：{P}、{P}、{P}~主席：{P}
{n},{P},{d},{m}
{P},{h},{C}
|{P}|{n}|{C}|
| {P} | {O} | {m} |
{n}. {P}~{n}. {P}~{n}. {P}
{P}：你在哪？~{P}：我在{C}
{P}: 好的~{P}: 谢谢
{P}（{O}）
{O}{P}{t}
{O}的{X}{t}说要{v}。
{X}{t}今天不在。
找{X}{t}
感谢{X}{t}的{w}
老师{P}教我们{w}。
{X}老师的课很{a}
{t}{P}
{P}{t}来电，请回电{h}
{P}，{d}出生，{C}人。
{P}于{d}在{C}出生
记者{P}／{C}报导
（记者{P}{C}报道）
作者：{P}
文／{P}
原告{P}与被告{P}
甲方：{P}~乙方：{O}
汇款给{P}{m}
帐户户名：{P}
户名{P}，帐号{n}
总统{P}访问{N}
{O}董事长{P}表示{w}很{a}。
{P}认为{w}应该{v}。
{P}{v}{w}
{P}{v}了
我跟{P}约好{v}
{P}的新{w}下周{v}，我很{a}
由{P}{v}
告诉{P}{w}改到{d}
写信给{P}，告诉他{w}
{P}表示，{w}将会{v}。
据{P}透露，{O}将{v}。
昨天{P}打电话给我
小明说{P}要来
班上的{P}很{a}
{P}跟{P}分手了
谁认识{P}？
你知道{P}吗
{P}是谁
帮我写一封信给{P}，说明{w}。
写一封推荐信给我的学生{P}
翻译：{P}住在{A}
{P}你好，{w}已经{v}了
hi {P}，{w}好了吗
@{P} 帮忙看一下
{P} {l} 帐号无法登入
使用者{P}登入失败
客户{P}反映{w}不{a}
会员{P}，卡号{n}
寄件人：{P}，{A}
送货地址：{A}
地址：{A}
住址 {A}
户籍地址：{A}~通讯地址：{A}
公司位于{A}。
我家在{A}附近
从{A}搬到{A}
请到{A}{v}
店址：{A}（近{w}）
{A} {P} 收
{O} {A}
{P}，{A}，{h}
我们在{C}的{O}见面
{C}到{C}的{w}
{N}的{w}很{a}
{C}今天{w}
{O}宣布{v}
{Z}是{N}人
{Z}·{Z}说他喜欢{w}
导演{Z}·{Z}的{w}
外籍老师{Z}教{w}
{G}，你在干嘛？
{G}跟我说{w}很{a}
我和{G}去{v}
谢谢{G}
{P}(男,{n}岁)
{P} 先生/小姐
代表人 {P}
紧急联络人 {P} {h}
患者:{P} 病历号:{n}
{P}医师门诊
{P}教授的研究
由{P}负责{w}
交由{P}处理
通知{P}{v}
转告{P}明天{v}
邀请{P}{t}演讲
介绍一下，这是{P}
这位是{P}{t}
{P}是我的{r}
我的{r}叫{P}
孩子叫{P}，{n}岁
""".strip().split("\n")

HELD = """
有人找{P}，请他回电。
学员{P}报名了{w}课。
{P}收，{A}
{X}{t}约我{d}{v}
昨晚{P}在{C}{v}，{r}也在。
姓名｜{P}｜电话｜{h}
{P}已经离开{O}了
客服您好，我是{P}，地址改为{A}
{P}跟他{r}{P}都住在{C}
病人{P}出院，家属{P}签名。
{n}	{P}	{C}	{m}
那个{a}的人是{P}
""".strip().split("\n")

NEGATIVES = """
今天天气很{a}，我们去{v}。
我很高兴认识你。
黄金价格又涨了{n}%。
这样比较方便，周末再{v}。
马上就好，请等一下。
张开嘴巴，白天不要{v}。
金融市场很{a}，{w}下跌。
请问{w}怎么{v}？
{w}的{w}是{a}的
他们{v}了{w}
我想{v}{w}
如何{v}{w}？
为什么{w}会{v}？
{w}和{w}的区别
本公司{w}已{v}，敬请{v}。
任何{w}都可以{v}
常常{v}{w}
向来{v}
高度{a}的{w}
方法如下：{v}、{v}、{v}
何时{v}？
江河湖海
金额：{m}
文件已{v}，请查收。
程序{v}失败，错误码{n}
安装{l}之后重新{v}
使用{l}开发{w}
成功{v}{n}个{w}
时间：{d}
地点：{C}
温度{n}度
白色的{w}，黑色的{w}
石头、木头和{w}
马路上有很多{w}
周一到周五{v}
万一{v}怎么办
于是{v}了
许多{w}都{a}
曾经{v}过
程度不{a}
余额不足
单位：元
连续{v}{n}天
康复之后再{v}
简单来说，{w}就是{w}
章节{n}：{w}{w}
左边是{w}，右边是{w}
古代的{w}
关于{w}的{w}
管理{w}
项目{w}{v}完成
路上小心
应该{v}
武器和{w}
明天{v}
文化{w}
国家{w}
建设{w}
安全{w}
春天{v}，夏天{v}
美丽的{w}
{w}{w}{w}
{w}，{w}，{w}
{w}{v}{w}
- {w}{w}~- {v}{w}~- {a}的{w}
{n}. {v}{w}
第{n}章 {w}
本{w}依据{w}法{v}
著作权声明：{w}{v}
使用条款与{w}政策
老板说要{v}
老师{v}{w}
经理在{v}
医生建议{v}
先生，请{v}
小姐您好，请问{v}
小心{w}
小时候{v}
小组{v}
老是{v}
阿姨{v}
感谢您的{w}
{C}的{w}很有名
{C}市长和{C}市民{v}
{C}大桥{v}
{C}旅游的{w}
去{C}{v}，再到{C}{v}
{N}总统{v}
微软、谷歌和苹果都{v}
Python 和 Java 哪个{a}
""".strip().split("\n")


class Chinese:
    def __init__(self, lists, rng, held):
        self.rng, self.lists = rng, lists
        frequency = {w: f for w, f, _ in lists.han_dictionary}
        def top(kinds, n, length=(2,)):
            return sorted((w for w, f, k in lists.han_dictionary if len(w) in length and k in kinds), key=lambda w: -frequency[w])[:n]
        self.nouns, self.verbs, self.adjectives = top(("n", "nz", "vn", "l", "i"), 9000, (2, 3, 4)), top(("v",), 4000), top(("a", "ad", "d"), 1200)
        # Characters of given names as often as the dictionary's names of people have them; now and then any character at all.
        family = set(SURNAMES)
        self.given_characters = [c for w, _, k in lists.han_dictionary if k == "nr" and len(w) in (2, 3) and w[0] in family for c in w[1:] if c in GIVEN or c not in "的了是在有和与及或也都就不没"]
        self.characters = sorted({c for w, f, k in lists.han_dictionary if f > 300 and k in ("n", "a", "v", "nz") for c in w} - set("的了是在有和与及或也都就不没很这那哪他她它们我你您先生小姐老师"))
        self.places = PLACES + [p for p in lists.han_places if len(p) in (2, 3)][:1500]
        self.latin = "Python Windows Linux Excel Google LINE API Docker iPhone Chrome Android".split()
        self.fill = {"P": ("p", self.full), "X": ("p", self.surname), "G": ("p", self.given_alone), "Z": ("p", lambda: rng.choice(FOREIGN)), "A": ("a", self.address),
                     "O": ("o", self.organisation), "C": ("c", lambda: rng.choice(self.places if rng.random() < 0.5 else PLACES)), "N": ("c", lambda: rng.choice(COUNTRIES))}
        self.templates = HELD if held else TEMPLATES

    def surname(self):
        rng = self.rng
        if rng.random() < 0.03:
            return rng.choice(COMPOUND)
        return SURNAMES[min(int(rng.expovariate(1 / 45)), len(SURNAMES) - 1)] if rng.random() < 0.8 else rng.choice(SURNAMES)

    def given(self):
        rng = self.rng
        def one():
            r = rng.random()
            return rng.choice(GIVEN) if r < 0.4 else rng.choice(self.given_characters) if r < 0.92 else rng.choice(self.characters)
        name = one() if rng.random() < 0.25 else one() + one()
        if len(name) == 2 and rng.random() < 0.06:
            name = name[0] * 2
        return name

    def given_alone(self):
        g = self.given()
        return g if len(g) == 2 else self.rng.choice("小阿") + g

    def full(self):
        rng, r = self.rng, self.rng.random()
        if r < 0.02:
            return self.surname() + rng.choice("○〇*") + rng.choice(GIVEN)
        if r < 0.05:
            return rng.choice("小老阿") + self.surname()[0]
        return self.surname() + self.given()

    def number(self):
        return str(self.rng.randint(1, 400)) if self.rng.random() < 0.85 else self.rng.choice("一二三四五六七八九") + self.rng.choice(["", "十", "十五"])

    def address(self):
        rng = self.rng
        parts = ""
        if rng.random() < 0.12:
            parts += str(rng.randint(100, 999)) + rng.choice(["", str(rng.randint(10, 99))]) + rng.choice(["", " "])
        if rng.random() < 0.8:
            parts += rng.choice(PLACES[:60]) + ("市" if rng.random() < 0.85 else "县")
        if rng.random() < 0.8:
            parts += rng.choice(DISTRICTS)
        if rng.random() < 0.1:
            parts += rng.choice(ROADS) + rng.choice("里村")
        parts += rng.choice(ROADS) + rng.choice(["路", "路", "路", "街", "大道", "东路", "西路", "南路", "北路"])
        if rng.random() < 0.3:
            parts += rng.choice("一二三四五") + "段"
        if rng.random() < 0.3:
            parts += f"{rng.randint(1, 300)}巷"
        if rng.random() < 0.15:
            parts += f"{rng.randint(1, 50)}弄"
        parts += self.number() + "号"
        q = rng.random()
        if q < 0.25:
            parts += f"{rng.randint(1, 30)}楼" + rng.choice(["", "", f"之{rng.randint(1, 9)}"])
        elif q < 0.45:
            parts += f"{rng.randint(1, 30)}{rng.choice(['栋', '号楼', '幢'])}{rng.choice(['', f'{rng.randint(1, 5)}单元'])}{rng.randint(101, 2605)}{rng.choice(['室', ''])}"
        return parts

    def organisation(self):
        stem = self.rng.choice(ORG_STEMS) if self.rng.random() < 0.7 else self.rng.choice(PLACES[:60]) + self.rng.choice(["", "市立", "大安", "科技"])
        return stem + self.rng.choice(ORG_TAILS)

    def plain(self, slot):
        rng = self.rng
        if slot == "d":
            y, m, d = rng.randint(1940, 2026), rng.randint(1, 12), rng.randint(1, 28)
            return rng.choice([f"{y}年{m}月{d}日", f"{y}/{m:02}/{d:02}", f"{m}月{d}日", f"民国{max(1, y - 1911)}年{m}月{d}日", f"{y}-{m:02}-{d:02}"])
        table = {"w": self.nouns, "v": self.verbs, "a": self.adjectives, "t": TITLES, "r": ROLES, "l": self.latin}
        if slot in table:
            return rng.choice(table[slot][:1500] if rng.random() < 0.4 else table[slot])
        return {"n": lambda: str(rng.randint(1, 9999)), "h": lambda: rng.choice([f"09{rng.randint(10, 99)}{rng.randint(100000, 999999)}", f"138{rng.randint(10000000, 99999999)}", f"02-2{rng.randint(1000000, 9999999)}"]),
                "m": lambda: f"{rng.randint(1, 9999)}{rng.choice(['元', '万元', '块'])}"}[slot]()

    def render(self, template):
        def replace(match):
            slot = match.group(1)
            if slot in self.fill:
                mark, make = self.fill[slot]
                return f"\x01{mark}{make()}\x02"
            return self.plain(slot)
        return re.sub(r"\{([A-Za-z])\}", replace, template).replace("~", "\x03")

    def text(self):
        rng = self.rng
        n = 1 if rng.random() < 0.5 else rng.randint(2, 5)
        parts = [self.render(rng.choice(self.templates if rng.random() < 0.55 else NEGATIVES)) for _ in range(n)]
        text = rng.choice(["", "", "\x03", " "]).join(parts)
        if rng.random() < 0.5:
            text = "".join(self.lists.s2t.get(c, c) for c in text)
        if rng.random() < 0.1:
            text = text.replace("，", ",").replace("：", ":").replace("。", "")
        return text


def texts(lists, seed, n, held=False):
    maker = Chinese(lists, random.Random(seed), held)
    for _ in range(n):
        yield maker.text()
