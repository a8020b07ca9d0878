"""testset: texts with marked private values, generated from a seed, that no rule was written from and no tagger was trained on.

Kept apart how: the sentences below stand only here, and detectors and training data were written by others without sight of them; numbers come from
python-stdnum and phonenumbers, English names from the census lists in `names`, Chinese names and all addresses from parts listed here.
A text is {"set", "id", "text", "spans": [[class, begin, end]]}, offsets in code points.
"""
import base64
import random
import string
import unicodedata
import zlib

import names
import phonenumbers
from stdnum import iban, luhn, numdb, verhoeff  # noqa: F401
from stdnum.br import cpf
from stdnum.gb import nhs
from stdnum.us import ssn

EN_NEUTRAL = ["We ship on Friday.", "The meeting moved to the large room.", "Let me know what you think.", "It was raining when we arrived."]


class Builder:
    """Sentences with holes: {} is filled with a value and marked."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.items = []

    def add(self, name, template, *values):
        """VALUES: (class or None, text), one for each {}."""
        text, spans, rest = "", [], template
        for cls, value in values:
            before, _, rest = rest.partition("{}")
            text += before
            if cls:
                spans.append([cls, len(text), len(text) + len(value)])
            text += value
        text += rest
        self.items.append({"set": name, "id": f"{name}-{len(self.items)}", "text": text, "spans": spans})

    def digits(self, n, first=string.digits):
        return self.random.choice(first) + "".join(self.random.choices(string.digits, k=n - 1))

    def token(self, n, alphabet=string.ascii_letters + string.digits):
        return "".join(self.random.choices(alphabet, k=n))

    def pick(self, items):
        return self.random.choice(items)


# ---- D1: identifiers with check digits ----
def card(b):
    prefix, size = b.pick([("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16), ("3530", 16), ("6212", 16)])
    body = prefix + b.digits(size - 1 - len(prefix))
    number = body + luhn.calc_check_digit(body)
    if size == 15:
        return b.pick([number, f"{number[:4]} {number[4:10]} {number[10:]}"])
    return b.pick([number, " ".join(number[i:i + 4] for i in range(0, 16, 4)), "-".join(number[i:i + 4] for i in range(0, 16, 4))])


def make_iban(b):
    country, shape = b.pick([("DE", "n18"), ("FR", "n23"), ("GB", "AAAAn14"), ("NL", "AAAAn10"), ("ES", "n20"), ("CH", "n17"), ("AT", "n16"), ("PL", "n24"), ("BE", "n12"), ("NO", "n11")])
    bban = "".join(b.token(1, string.ascii_uppercase) for c in shape if c == "A") + b.digits(int(shape.split("n")[1]))
    number = "".join(str(int(c, 36)) for c in bban + country + "00")
    text = f"{country}{98 - int(number) % 97:02d}{bban}"
    return b.pick([text, " ".join(text[i:i + 4] for i in range(0, len(text), 4))])


def cn_ric(b):
    body = b.pick(["110101", "310115", "440106", "330102", "500103"]) + f"{b.random.randrange(1945, 2015)}{b.random.randrange(1, 13):02d}{b.random.randrange(1, 29):02d}" + b.digits(3)
    return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2])) % 11]


def tw_id(b):
    letters = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
    letter, body = b.pick(letters), b.pick("1289") + b.digits(7)
    number = letters.index(letter) + 10
    total = number // 10 + number % 10 * 9 + sum(int(d) * w for d, w in zip(body, range(8, 0, -1)))
    return letter + body + str(-total % 10)


def hkid(b):
    letter, body = b.pick(string.ascii_uppercase), b.digits(6)
    total = 36 * 9 + (ord(letter) - 55) * 8 + sum(int(d) * w for d, w in zip(body, range(7, 1, -1)))
    check = 11 - total % 11
    return f"{letter}{body}({'0' if check == 11 else 'A' if check == 10 else check})"


def us_ssn(b):
    while True:
        text = f"{b.random.randrange(1, 900):03d}-{b.random.randrange(1, 100):02d}-{b.random.randrange(1, 10000):04d}"
        if ssn.is_valid(text):
            return text


def nino(b):
    first, second = b.pick("ABCEGHJKLMNPRSTWXYZ"), b.pick("ABCEGHJKLMNPRSTWXYZ")
    if first + second in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"):
        first = "J"
    d = b.digits(6)
    return b.pick([f"{first}{second} {d[:2]} {d[2:4]} {d[4:]} {b.pick('ABCD')}", f"{first}{second}{d}{b.pick('ABCD')}"])


def uk_nhs(b):
    while True:
        body = b.digits(9, "4679")
        check = nhs.calc_check_digit(body) if hasattr(nhs, "calc_check_digit") else next((d for d in string.digits if nhs.is_valid(body + d)), None)
        if check and nhs.is_valid(body + check):
            n = body + check
            return b.pick([n, f"{n[:3]} {n[3:6]} {n[6:]}", f"{n[:3]}-{n[3:6]}-{n[6:]}"])


def aadhaar(b):
    body = b.digits(11, "23456789")
    n = body + verhoeff.calc_check_digit(body)
    return b.pick([n, f"{n[:4]} {n[4:8]} {n[8:]}"])


def my_number(b):
    body = b.digits(11)
    r = sum(int(d) * w for d, w in zip(body, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) % 11
    n = body + str(0 if r <= 1 else 11 - r)
    return b.pick([n, f"{n[:4]} {n[4:8]} {n[8:]}", f"{n[:4]}-{n[4:8]}-{n[8:]}"])


def mrz(b):
    def check(text):
        return str(sum((0 if c == "<" else int(c, 36)) * (7, 3, 1)[i % 3] for i, c in enumerate(text)) % 10)
    number, birth, expiry = b.token(9, string.ascii_uppercase + string.digits), f"{b.random.randrange(50, 99)}0{b.random.randrange(1, 10)}1{b.random.randrange(0, 9)}", "310415"
    number_c, birth_c, expiry_c, personal = number + check(number), birth + check(birth), expiry + check(expiry), "<" * 14
    line = number_c + "UTO" + birth_c + "F" + expiry_c + personal + check(personal)
    line += check(number_c + birth_c + expiry_c + personal + check(personal))
    return ("P<UTO" + names.get_last_name().upper() + "<<" + names.get_first_name().upper()).ljust(44, "<") + "\n" + line


def br_cpf(b):
    body = b.digits(9)
    n = body + cpf.calc_check_digits(body) if hasattr(cpf, "calc_check_digits") else next(body + f"{i:02d}" for i in range(100) if cpf.is_valid(body + f"{i:02d}"))
    return f"{n[:3]}.{n[3:6]}.{n[6:9]}-{n[9:]}"


IDS = [("card", card, ["Bill it to {}.", "Visa or Mastercard {}, whichever works", "the card is {}", "卡號是 {}", "银行卡 {}"]),
       ("iban", make_iban, ["Our account: {}", "Send the rent to {} by Monday.", "IBAN: {}"]),
       ("gov_id", cn_ric, ["我的身份证是{}。", "ID number {} (PRC)", "证件号码：{}"]),
       ("gov_id", tw_id, ["身分證字號：{}", "my Taiwanese ID is {}", "證號{}請查收"]),
       ("gov_id", hkid, ["HKID {}", "香港身份證 {}", "Please verify {} for me."]),
       ("gov_id", us_ssn, ["SSN: {}", "her social is {}", "Social Security {} as filed"]),
       ("gov_id", nino, ["NI number {}", "National Insurance: {}", "NINO {} on the payslip"]),
       ("gov_id", uk_nhs, ["NHS number: {}", "the patient's NHS no is {}"]),
       ("gov_id", aadhaar, ["Aadhaar: {}", "aadhaar card no. {}"]),
       ("gov_id", my_number, ["マイナンバーは {} です", "My Number {}", "個人番号：{}"]),
       ("gov_id", mrz, ["passport reads\n{}\nplease check", "{}"]),
       ("gov_id", br_cpf, ["CPF {}", "meu CPF é {}"])]


def disguises(b, value):
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
    arabic = "".join(chr(0x660 + int(c)) if c.isdigit() else c for c in value)
    middle = len(value) // 2
    dashes = value.replace("-", "\u2011").replace(" ", "\u00a0")
    return [wide, arabic, value[:middle] + "\u200b" + value[middle:], dashes, base64.b64encode(f"number {value} end".encode()).decode(), "number " .encode().hex() + value.encode().hex()]


def d1(b, n):
    for cls, make, templates in IDS:
        for _ in range(n):
            b.add("D1", b.pick(templates), (cls, make(b)))
        for _ in range(n // 3):
            value = make(b)
            if "\n" not in value:
                b.add("D1-disguised", b.pick(templates), (cls, b.pick(disguises(b, value))))


def d1_clean(b, n):
    for _ in range(n):
        b.add("D1-clean", b.pick(["batch {} done", "row {} of the table", "build {} passed", "ticket {} closed", "offset={}", "{}"]), (None, b.digits(b.random.randrange(6, 21))))
    for _ in range(n // 20):
        stamp = f"2026-0{b.random.randrange(1, 10)}-1{b.random.randrange(0, 10)}T0{b.random.randrange(0, 10)}:1{b.random.randrange(0, 10)}:22.{b.digits(6)}Z"
        b.add("D1-clean", "{}", (None, f"{stamp} INFO worker[{b.digits(5)}] request {b.token(32, '0123456789abcdef')} took {b.digits(3)}ms bytes={b.digits(7)}"))
        b.add("D1-clean", "{}", (None, f"commit {b.token(40, '0123456789abcdef')}"))
        b.add("D1-clean", "{}", (None, f'    "integrity": "sha512-{base64.b64encode(b.random.randbytes(64)).decode()}",'))
        b.add("D1-clean", "{}", (None, f"id: {b.token(8, '0123456789abcdef')}-{b.token(4, '0123456789abcdef')}-4{b.token(3, '0123456789abcdef')}-a{b.token(3, '0123456789abcdef')}-{b.token(12, '0123456789abcdef')}"))


# ---- D2: credentials with a shape ----
def github(b):
    body = b.token(30)
    crc, out, alphabet = zlib.crc32(body.encode()), "", string.digits + string.ascii_uppercase + string.ascii_lowercase
    for _ in range(6):
        out, crc = alphabet[crc % 62] + out, crc // 62
    return "gh" + b.pick("pousr") + "_" + body + out


def jwt(b):
    def part(text):
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
    return part('{"alg":"HS256","typ":"JWT"}') + "." + part(f'{{"sub":"{b.digits(6)}","iat":1700000000}}') + "." + b.token(43, string.ascii_letters + string.digits + "-_")


def pem(b):
    kind = b.pick(["RSA ", "EC ", "OPENSSH ", ""])
    body = "\n".join(b.token(64, string.ascii_letters + string.digits + "+/") for _ in range(8))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{body}\n-----END {kind}PRIVATE " + "KEY-----"


HEX = "0123456789abcdef"
KEYS = [github, jwt, pem,
        lambda b: "AK" + "IA" + b.token(16, string.ascii_uppercase + "234567"),
        lambda b: "sk-" + b.token(20) + "T3Blbk" + "FJ" + b.token(20),
        lambda b: "sk-" + "ant-api03-" + b.token(93) + "AA",
        lambda b: "AI" + "za" + b.token(35),
        lambda b: "xox" + "b-" + b.digits(12) + "-" + b.digits(12) + "-" + b.token(24),
        lambda b: b.pick(["sk_", "rk_"]) + "live_" + b.token(24),
        lambda b: "glp" + "at-" + b.token(20),
        lambda b: "hf" + "_" + b.token(34, string.ascii_letters),
        lambda b: "dap" + "i" + b.token(32, HEX),
        lambda b: "do" + "p_v1_" + b.token(64, HEX),
        lambda b: "shp" + "at_" + b.token(32, HEX),
        lambda b: "S" + "G." + b.token(22) + "." + b.token(43),
        lambda b: "np" + "m_" + github(b)[4:],
        lambda b: "AGE-SECRET-" + "KEY-1" + b.token(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        lambda b: "pypi-" + "AgEIcHlwaS5vcmc" + b.token(60)]
KEY_PLACES = ["use {} for now", "TOKEN={}", "the key is {}", '"apiKey": "{}",', "curl -H 'X-Api-Key: {}' localhost", "{}", "export KEY={}  # prod"]


def d2(b, n):
    for make in KEYS:
        for _ in range(n):
            b.add("D2", b.pick(KEY_PLACES) if make is not pem else "here it is:\n{}\n", ("secret", make(b)))
    for scheme in ("postgres", "mysql", "mongodb+srv", "redis", "amqp"):
        for _ in range(n):
            b.add("D2", scheme + "://" + b.pick(["app", "root", "svc"]) + ":{}@db-" + b.digits(2) + ".example.net/main", ("secret", b.token(b.random.randrange(8, 20))))


# ---- D3: passwords in prose and code ----
HUMAN = ["sunflower", "Dragonfly", "blackbird", "monkeybars", "Thunder", "winterrose", "qwertz", "letmein", "Bluebell", "ironclad"]
D3_POSITIVE = ["my password is {}", "Password: {}", "the wifi password is {} btw", "pw: {}", "login with admin / password {}", "the passphrase is {}", "密碼是 {}", "密码：{}", "登入密碼 {}", "口令是{}",
               "PASSWORD={}", 'db_password = "{}"', "password: '{}'", 'secret_key = "{}"', "passwd={}", "pin is set, password {} works", "Passwort: {}", "mot de passe : {}", "contraseña: {}", "use {} as the password"]
D3_NEGATIVE = ["I forgot my password again", "password reset instructions were sent", 'password = os.getenv("DB_PASSWORD")', "password: ${DB_PASSWORD}", "password=<your-password>", "def check_password(password):",
               "Passwords must be at least twelve characters long.", "the secret is to add butter at the end", "token count: 4096", "密碼必須至少八個字元", "請重設密碼", "api_key: string;", "const password = props.password;",
               "the key is to practise every day", "password: string | null", "my passport is in the drawer", "self.password = password", "key=lambda x: x[1]", "type Password struct {", "auth: required", "the token is invalid",
               "secret: true", "Enter password:", 'label="Password"', "public_key = load(path)", "keyboard, monkey, keyword", "pwd", "passphrase must not be empty", "密碼錯誤，請再試一次", "password_hash = hash(password)"]


def d3(b, n):
    for _ in range(n):
        human = b.pick(HUMAN) + b.pick(["", b.digits(2), b.digits(4), "!" + b.digits(2), b.pick(HUMAN) + b.digits(1)])
        if human.isalpha():
            human += b.digits(2)
        b.add("D3", b.pick(D3_POSITIVE), ("secret", b.pick([human, human, b.token(12, string.ascii_letters + string.digits + "!#%*")])))
    for i in range(n):
        b.add("D3", D3_NEGATIVE[i % len(D3_NEGATIVE)] + b.pick(["", "", " " + b.pick(EN_NEUTRAL)]))


# ---- D4: contact ----
REGIONS = "US GB DE FR ES IT NL CH AT SE PL JP KR CN TW HK SG IN AU BR".split()
LABEL = {"DE": "Telefon", "FR": "Tél.", "ES": "Teléfono", "CN": "手机", "TW": "手機", "HK": "電話", "JP": "電話", "KR": "전화"}


def phone(b, region):
    while True:
        kind = b.pick([phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE])
        example = phonenumbers.example_number_for_type(region, kind)
        digits = str(example.national_number)
        changed = digits[:-4] + b.digits(4)
        number = phonenumbers.PhoneNumber(example.country_code, int(changed), italian_leading_zero=example.italian_leading_zero)
        if phonenumbers.is_valid_number(number):
            return number


def d4(b, n):
    for region in REGIONS:
        for _ in range(n):
            number = phone(b, region)
            if b.random.random() < 0.6:
                text = phonenumbers.format_number(number, b.pick([phonenumbers.PhoneNumberFormat.INTERNATIONAL, phonenumbers.PhoneNumberFormat.E164]))
                b.add("D4", b.pick(["Ring {} tonight.", "{}", "you can reach us at {}, any time", "☎ {}"]), ("phone", text))
            else:
                text = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
                b.add("D4", b.pick([LABEL.get(region, "Phone") + ": {}", LABEL.get(region, "tel") + " {}"]), ("phone", text))
    for _ in range(n * 10):
        local = b.pick([names.get_first_name().lower() + "." + names.get_last_name().lower(), b.token(8, string.ascii_lowercase), "info+" + b.token(4, string.ascii_lowercase)])
        host = b.token(7, string.ascii_lowercase) + b.pick([".com", ".co.uk", ".com.tw", ".de", ".org", ".io", ".example"])
        b.add("D4", b.pick(["mail {} please", "<{}>", "cc: {};", "請寄到 {} 謝謝", "mailto:{}", "({})"]), ("email", local + "@" + host))
    for _ in range(n * 4):
        ip = ".".join(str(b.random.randrange(1, 255)) for _ in range(4))
        b.add("D4", b.pick(["the box at {} is down", "ssh to {}", "from {} port 22", "remote addr {}"]), ("ip", ip.replace("10.", "11.", 1) if ip.startswith("10.") else ip))
        b.add("D4", b.pick(["host {} answered", "listen on {}"]), ("ip", "2001:db8:" + ":".join(b.token(4, HEX).lstrip("0") or "1" for _ in range(3)) + "::" + b.token(2, "123456789")))
        b.add("D4", b.pick(["MAC {}", "ether {} brd"]), ("mac", ":".join(b.token(2, HEX) for _ in range(6))))
    for text in ["version 1.2.3.4 of the library", "released 2024-05-17 at 10:22:33", "see section 4.3.2.1", "ISBN 978-3-16-148410-0", "price 1,234,567.89", "from 1999-2004 to 2010-2015", "ratio 16:9, scale 1:25000",
                 "npm i @scope/package@1.2.3", "git clone git" + "@" + "host:team/repo.git", "order 20240517-0001", "build 20231105123456", "lat/lon rounding to 2 digits", "@media (max-width: 600px)", "RFC 2119 and RFC 8174",
                 "1756892345123", "0.1234567890", "3.14159265358979", "10 20 30 40 50 60 70", "score 12-10, 9-11, 11-7", "2x4 and 4x4 boards", "part no. 555-1234-A", "décorateur @staticmethod"]:
        for _ in range(n // 2):
            b.add("D4", b.pick(["{}", "note: {}", "{} as before"]), (None, text))


# ---- D5: people ----
D5_EN = ["{} called about the invoice.", "I met {} at the station yesterday.", "Please forward this to {} in accounting.", "{} and {} will present on Tuesday.", "Regards,\n{}", "Minutes taken by {}.",
         "According to {}, the roof leaks.", "The contract was signed by {} last week.", "| {} | Finance | ok |", "Reviewer: {}", "Can {} join us?", "Hi {},\n\nthanks for the quick reply.", "Ask {}'s assistant.", "- {}: will bring cake",
         "My neighbour {} lost her cat.", "The tenant, {}, has moved out.", "Dr. {} will see you now.", "From: {}\nSubject: lunch", "{} is my lawyer.", "we hired {} as a cook"]
ZH_FAMILY = "陳林黃張李王吳劉蔡楊許鄭謝郭洪曾邱廖赖周徐苏叶吕魏高潘朱简钟彭游詹胡施沈余赵卢梁颜柯孙何"
ZH_GIVEN1, ZH_GIVEN2 = "建志俊家怡雅淑美國文明宗冠承思子欣佳若雨梓浩宇晨", "豪偉傑婷君芬玲華宏翰霖涵妤潔萱軒睿彤怡恩安"
D5_ZH = ["我叫{}，很高興認識你。", "聯絡人：{}", "{}先生您好", "{}小姐昨天來電", "請把文件交給{}經理。", "姓名：{}", "患者{}，女性", "收件人 {}", "負責人是{}。", "{}老師說明天停課", "我的同事{}今天請假", "此案由{}負責", "联系人：{}", "{}医生建议多休息"]
EN_CLEAN = ["The Golden Gate Bridge opened in 1937.", "Monday March April June", "We use Python, Rust and Visual Studio Code.", "Internal Server Error", "Please Read The Manual", "New Features And Bug Fixes", "General Electric reported earnings.",
            "Merry Christmas and a Happy New Year", "The United Nations met in Geneva.", "Windows Server Standard Edition", "Terms And Conditions Apply", "Chapter Three: The Long Road", "Grand Central Station was closed."]
ZH_CLEAN = ["高興認識大家", "黃金價格上漲", "方便的話請回覆", "周末去爬山", "馬上就到", "張開嘴巴", "白天很熱", "金融市場", "何時出發", "於是我們走了", "安全第一", "時間不夠", "王道是努力", "林木茂盛"]


def d5(b, n):
    for _ in range(n):
        template = b.pick(D5_EN)
        b.add("D5-en", template, *[("person", b.pick([names.get_full_name(), names.get_full_name(), names.get_first_name() + " " + b.token(1, string.ascii_uppercase) + ". " + names.get_last_name()])) for _ in range(template.count("{}"))])
        name = b.pick(ZH_FAMILY) + b.pick(ZH_GIVEN1) + b.pick(ZH_GIVEN2)
        b.add("D5-zh", b.pick(D5_ZH), ("person", name))
    for i in range(n // 2):
        b.add("D5-en", b.pick(EN_CLEAN) + " " + b.pick(EN_NEUTRAL))
        b.add("D5-zh", b.pick(ZH_CLEAN) + "，" + b.pick(ZH_CLEAN) + "。")


# ---- D6: addresses ----
STREETS = ["Maple", "Ashford", "Kingsley", "Harbour", "Old Mill", "Station", "Lakeview", "Willow Creek"]
TOWNS = [("Springfield", "IL", "627"), ("Portland", "OR", "972"), ("Austin", "TX", "787"), ("Dayton", "OH", "454"), ("Boulder", "CO", "803")]
D6_EN = ["Ship it to {} please.", "My address is {}.", "Address: {}", "We moved to {} in May.", "Deliver to:\n{}", "{}"]
D6_ZH = ["請寄到{}，謝謝。", "地址：{}", "我住在{}。", "送货地址 {}", "{}"]


def en_address(b):
    number, street = b.digits(b.random.randrange(1, 5), "123456789"), b.pick(STREETS) + " " + b.pick(["Street", "St", "Ave", "Avenue", "Road", "Rd", "Lane", "Drive", "Blvd", "Court"])
    unit = b.pick(["", "", ", Apt " + b.digits(2), ", Suite " + b.digits(3), " #" + b.digits(2)])
    if b.random.random() < 0.3:
        return f"{number} {street}, {b.pick(['London', 'Leeds', 'Bristol'])} {b.pick(['SW1A', 'LS6', 'BS8', 'E1'])} {b.digits(1)}{b.token(2, 'ABDEFGHJLNPQRSTUWXYZ')}"
    town, state, code = b.pick(TOWNS)
    return f"{number} {street}{unit}, {town}, {state} {code}{b.digits(2)}"


def zh_address(b):
    if b.random.random() < 0.5:
        return b.pick(["台北市大安區", "臺中市西屯區", "高雄市左營區", "新北市板橋區"]) + b.pick(["和平東路", "文心路", "自由路", "中山路"]) + b.pick(["一段", "二段", ""]) + b.digits(3, "123456789") + "號" + b.pick(["", b.digits(1, "23456789") + "樓"])
    return b.pick(["北京市朝阳区", "上海市浦东新区", "广东省深圳市南山区", "浙江省杭州市西湖区"]) + b.pick(["建国路", "世纪大道", "科苑路", "文三路"]) + b.digits(2, "123456789") + "号" + b.pick(["", "3栋" + b.digits(3, "123456789") + "室"])


def d6(b, n):
    for _ in range(n):
        b.add("D6-en", b.pick(D6_EN), ("address", en_address(b)))
        b.add("D6-zh", b.pick(D6_ZH), ("address", zh_address(b)))


# ---- D9: where a request should go ----
D9 = [("local", ["my password is {password}", "Patient {person} was diagnosed with hepatitis C", "{person} has been taking insulin for her diabetes", "the api key is {key}", "postgres://app:{password}@db.internal/x",
                 "患者{zh}確診肝炎", "here is the token {key}, fix the script", "seems {person} is HIV positive, draft a letter"]),
      ("cloud-masked", ["Please email {person} at {email} about the invoice.", "charge card {card}", "身分證 {tw} 幫我填表", "call me at {phone}", "IBAN {iban} for the refund", "SSN {ssn}, what form do I need?", "我叫{zh}，請幫我寫自我介紹"]),
      ("cloud", ["What are symptoms of hepatitis C?", "Explain how a hash table works.", "Write a haiku about autumn.", "How do I reset a password in Django?", "幫我翻譯這句話：今天天氣很好", "Summarise the history of tea.", "why is 550e8400-e29b-41d4-a716-446655440000 a valid UUID?",
                 "convert 1756892345123 ms to a date", "what does `password = os.getenv(\"X\")` do?", "Is v1.2.3.4 newer than v1.2.3.3?"]),
      ("refused", ["What is the status of Nordstar?", "ＮＯＲＤＳＴＡＲ roadmap", "nord\u200bstar launch plan"])]


def d9(b, n):
    share = {"local": 0.3, "cloud-masked": 0.35, "cloud": 0.25, "refused": 0.1}
    for route, texts in D9:
        for _ in range(int(n * share[route])):
            text = b.pick(texts).format(password=b.pick(HUMAN) + b.digits(2), person=names.get_full_name(), key=b.pick(KEYS[3:])(b), zh=b.pick(ZH_FAMILY) + b.pick(ZH_GIVEN1) + b.pick(ZH_GIVEN2),
                                        email=b.token(6, string.ascii_lowercase) + "@example.org", card=card(b), tw=tw_id(b), phone="+44 7700 900" + b.digits(3), iban=make_iban(b), ssn=us_ssn(b))
            b.items.append({"set": "D9", "id": f"D9-{len(b.items)}", "text": text, "spans": [], "route": route})


def build(seed, size=1.0):
    b = Builder(seed)
    random.seed(seed)  # `names` draws from the global one
    d1(b, int(120 * size))
    d1_clean(b, int(20000 * size))
    d2(b, int(20 * size))
    d3(b, int(200 * size))
    d4(b, int(20 * size))
    d5(b, int(400 * size))
    d6(b, int(200 * size))
    d9(b, int(300 * size))
    return b.items


def width_folded(text):
    return unicodedata.normalize("NFKC", text)
