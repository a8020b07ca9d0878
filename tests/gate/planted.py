"""planted: made-up private values of every class, sentences that hold them, and every spelling in which one could leak.

Values are made at run time from a seed; check digits are computed here, independently of the program under test.
"""
import base64
import random
import string
import unicodedata
import urllib.parse

GIVEN = "Amelia Jonas Priya Mateus Ingrid Tobias Leila Marek Noor Hugo Salma Viktor Elena Desmond Freya Rashid".split()
FAMILY = "Okonkwo Lindqvist Vasquez Petrov Haddad Nakagawa Brennan Castellano Dubois Eriksson Kowalczyk Whitfield Moreau Abernathy".split()
ZH_FAMILY, ZH_GIVEN = "陳林黃張李王吳劉蔡楊", ["雅婷", "志明", "怡君", "俊宏", "淑芬", "家豪", "美玲", "建國"]
WORDS = "please could you check the attached summary and tell me whether the plan for next quarter still makes sense given our budget".split()
CONDITIONS = ["hepatitis C", "type 2 diabetes", "breast cancer", "bipolar disorder", "HIV"]


def luhn_digit(digits):
    total = 0
    for i, d in enumerate(reversed(digits)):
        d = int(d) * (2 if i % 2 == 0 else 1)
        total += d - 9 if d > 9 else d
    return str(-total % 10)


def verhoeff_digit(digits):
    d = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
    for row in ([1, 2, 3, 4, 0, 6, 7, 8, 9, 5], [2, 3, 4, 0, 1, 7, 8, 9, 5, 6], [3, 4, 0, 1, 2, 8, 9, 5, 6, 7], [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
                [5, 9, 8, 7, 6, 0, 4, 3, 2, 1], [6, 5, 9, 8, 7, 1, 0, 4, 3, 2], [7, 6, 5, 9, 8, 2, 1, 0, 4, 3], [8, 7, 6, 5, 9, 3, 2, 1, 0, 4], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]):
        d.append(row)
    p = [list(range(10)), [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]]
    for _ in range(6):
        p.append([p[1][x] for x in p[-1]])
    inverse = [0, 4, 3, 2, 1, 5, 6, 7, 8, 9]
    c = 0
    for i, digit in enumerate(reversed(digits)):
        c = d[c][p[(i + 1) % 8][int(digit)]]
    return str(inverse[c])


class Maker:
    """Values and sentences from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def digits(self, n, first=string.digits):
        return self.random.choice(first) + "".join(self.random.choices(string.digits, k=n - 1))

    def pick(self, items):
        return self.random.choice(items)

    def token(self, n, alphabet=string.ascii_letters + string.digits):
        return "".join(self.random.choices(alphabet, k=n))

    def prose(self, n=8):
        start = self.random.randrange(len(WORDS) - n)
        return " ".join(WORDS[start:start + n])

    # ---- values ----
    def card(self):
        body = "4" + self.digits(14)
        number = body + luhn_digit(body)
        return " ".join(number[i:i + 4] for i in range(0, 16, 4)) if self.random.random() < 0.5 else number

    def iban(self):
        bban = "".join(self.random.choices(string.digits, k=18))
        check = 98 - int(bban + "131400") % 97
        text = f"DE{check:02d}{bban}"
        return " ".join(text[i:i + 4] for i in range(0, len(text), 4)) if self.random.random() < 0.5 else text

    def ssn(self):
        return f"{self.random.randrange(100, 600):03d}-{self.random.randrange(10, 90):02d}-{self.random.randrange(1000, 9000):04d}"

    def nhs(self):
        while True:
            body = self.digits(9, "123456789")
            check = 11 - sum(int(d) * (10 - i) for i, d in enumerate(body)) % 11
            if check != 10:
                number = body + str(0 if check == 11 else check)
                return f"{number[:3]} {number[3:6]} {number[6:]}"

    def aadhaar(self):
        body = self.digits(11, "23456789")
        number = body + verhoeff_digit(body)
        return f"{number[:4]} {number[4:8]} {number[8:]}"

    def cn_ric(self):
        body = self.pick(["110105", "310104", "440305", "510107"]) + f"19{self.random.randrange(50, 99)}{self.random.randrange(1, 13):02d}{self.random.randrange(1, 28):02d}" + self.digits(3)
        weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
        return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, weights)) % 11]

    def tw_id(self):
        letters = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
        letter = self.pick(letters)
        number = letters.index(letter) + 10
        body = self.pick("12") + self.digits(7)
        total = number // 10 + number % 10 * 9 + sum(int(d) * w for d, w in zip(body, range(8, 0, -1)))
        return letter + body + str(-total % 10)

    def email(self):
        return f"{self.pick(GIVEN).lower()}.{self.pick(FAMILY).lower()}{self.random.randrange(10, 99)}@{self.token(6, string.ascii_lowercase)}.example.org"

    def phone(self):
        return self.pick([f"+44 7700 900{self.digits(3)}", f"+886 912 {self.digits(3)} {self.digits(3)}", f"+1 212 {self.pick('23456789')}{self.digits(2)} {self.digits(4)}"])

    def person(self):
        return f"{self.pick(GIVEN)} {self.pick(FAMILY)}"

    def zh_person(self):
        return self.pick(ZH_FAMILY) + self.pick(ZH_GIVEN)

    def password(self):
        return self.pick(["maple", "orchid", "falcon", "copper"]) + self.token(5, string.ascii_lowercase + string.digits) + self.digits(2) + "!"

    def github(self):
        import zlib
        body = self.token(30)
        crc, out = zlib.crc32(body.encode()), ""
        alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
        for _ in range(6):
            out = alphabet[crc % 62] + out
            crc //= 62
        return "gh" + "p_" + body + out

    def aws(self):
        return "AK" + "IA" + self.token(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    def connection(self):
        return self.token(14)

    # ---- sentences: (text, [(class, value)]) ----
    MASKED = [
        ("card", "card", ["My card is {}.", "card number: {}", "please charge {} today", "信用卡號 {}"]),
        ("iban", "iban", ["IBAN {}", "Transfer it to {} please.", "匯款帳號 IBAN {}"]),
        ("gov_id", "ssn", ["SSN {}", "my social security number is {}."]),
        ("gov_id", "nhs", ["NHS number {}", "NHS no. {} on file"]),
        ("gov_id", "aadhaar", ["Aadhaar {}", "her aadhaar number is {}"]),
        ("gov_id", "cn_ric", ["身份证号 {}", "ID card {}"]),
        ("gov_id", "tw_id", ["身分證字號 {}", "身分證：{}"]),
        ("email", "email", ["Write to {} about it.", "email: {}", "信箱 {}"]),
        ("phone", "phone", ["Call {} after six.", "phone: {}", "電話 {}"]),
        ("person", "person", ["My name is {}.", "Dear Ms {},", "Contact Dr. {} first.", "Name: {}"]),
        ("person", "zh_person", ["我叫{}。", "姓名：{}", "聯絡人：{}"]),
    ]
    KEPT = [
        ("secret", "password", ["my password is {}", "The password: {}", "密碼是 {}"]),
        ("secret", "github", ["token {}", "export GITHUB_TOKEN={}"]),
        ("secret", "aws", ["aws_access_key_id = {}"]),
        ("secret", "connection", ["postgres://app:{}@db.internal:5432/x"]),
    ]

    def planted(self, rows, n):
        texts, values = [], []
        for cls, maker, templates in self.random.sample(rows, n):
            value = getattr(self, maker)()
            texts.append(self.pick(templates).format(value))
            values.append((cls, value))
        self.random.shuffle(texts)
        return texts, values

    def disguised(self, cls, value):
        """VALUE as a careless paste or a sly one: the program must see through it."""
        way = self.random.randrange(4)
        if way == 0:
            return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in value)
        if way == 1:
            return value[:3] + "\u200b" + value[3:]
        if way == 2:
            return urllib.parse.quote("card number " + value if cls == "card" else value, safe="")
        return base64.b64encode(f"the {cls} is {value} for the file".encode()).decode()


def spellings(value):
    """Every encoding in which VALUE would count as leaked."""
    raw = value.encode()
    folded = unicodedata.normalize("NFKC", value)
    found = {raw, folded.encode(), folded.casefold().encode(), value[::-1].encode(), raw.hex().encode(), raw.hex().upper().encode(),
             urllib.parse.quote(value, safe="").encode(), urllib.parse.quote_plus(value).encode(), value.encode("utf-16-le"), value.encode("utf-16-be")}
    found.add(value.encode("ascii", "backslashreplace"))
    found.add("".join(f"\\u{ord(c):04x}" for c in value).encode())
    for shift in range(3):
        inner = base64.b64encode(b"\0" * shift + raw)
        whole = (len(raw) + shift) // 3 * 4
        piece = inner[(shift * 8 + 5) // 6:whole]
        if len(piece) >= 8:
            found.update({piece, piece.replace(b"+", b"-").replace(b"/", b"_")})
    return {f for f in found if len(f) >= 4}


def leaks(value, seen):
    """The spelling of VALUE found in the bytes SEEN, or None."""
    lower = seen.lower()
    for spelling in spellings(value):
        if spelling in seen or spelling.lower() in lower:
            return spelling
    digits = "".join(c for c in unicodedata.normalize("NFKC", value) if c.isdigit())
    if len(digits) >= 9 and digits.encode() in bytes(b for b in seen if 48 <= b <= 57):
        return digits.encode()
    folded = unicodedata.normalize("NFKC", seen.decode("utf-8", "replace")).casefold()
    if unicodedata.normalize("NFKC", value).casefold() in folded:
        return b"(folded) " + value.encode()
    return None
