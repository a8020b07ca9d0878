// phones: telephone numbers of any region: by "+", by a label, or by the way a region writes its own.
#include "privacy/detect/contact/phones.h"
#include <algorithm>
#include "privacy/characters.h"
#include "privacy/detect/contact/contact.h"

namespace contact {

bool read_chain(std::string_view text, size_t at, DigitChain& out) {
  out = {};
  out.begin = at;
  size_t i = at;
  bool open = false;
  if (text[i] == '(' && i + 1 < text.size()) open = out.bracket = true, ++i;
  if (i < text.size() && text[i] == '+') out.plus = true, ++i;
  while (i < text.size()) {
    size_t end = i;
    while (end < text.size() && digit(text[end])) ++end;
    if (end == i) break;
    const bool closed = open && end < text.size() && text[end] == ')';
    if (closed && out.plus && out.n_groups > 0 && text.substr(i, end - i) == "0") {  // "+44 (0)20": dialled at home alone
      out.group_ends[out.n_groups - 1] = out.end = ++end;
    } else {
      if (out.n + (end - i) > 17 || out.n_groups == out.groups.size() - 1) {
        if (out.n_groups == 0) return false;
        out.cut = true;
        break;
      }
      std::copy(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end),
                out.digits.begin() + static_cast<std::ptrdiff_t>(out.n));
      out.n += end - i;
      out.groups[out.n_groups] = static_cast<uint8_t>(end - i);
      end += closed;
      out.group_ends[out.n_groups++] = out.end = end;
    }
    open &= !closed;
    // One separator, or a bracket with spaces around it.
    i = end;
    size_t signs = 0;
    char sign = 0;
    while (i < text.size() && signs < 3 && std::string_view(" -./()").find(text[i]) != std::string_view::npos) {
      if (text[i] == '(') open = out.bracket = true;
      if (text[i] == ')') open = false;
      if (text[i] != ' ' || sign == 0) sign = text[i];
      ++i, ++signs;
    }
    if ((signs == 0 && !closed) || i >= text.size() || !digit(text[i])) break;
    if (signs == 0) continue;
    const std::string_view between = text.substr(end, signs);
    if (between.find("  ") != std::string_view::npos || between == " / ") break;
    // Another number begins: after dashes, or after one that is whole.
    const bool dashed = out.separator == '-' || out.separator == '.' || out.separator == '*';
    if (between == " " && ((dashed && out.n >= 9 && out.n_groups >= 3) || (out.groups[out.n_groups - 1] >= 9))) break;
    if (out.plus && sign == '(') continue;
    out.separator = out.separator == 0 || out.separator == sign ? sign : '*';
  }
  if (out.n_groups == 0) return false;
  if (out.n > 9 && out.digits[0] == '0' && out.digits[1] == '0' && out.digits[2] != '0' && out.groups[0] >= 2 && !out.plus) {  // dialled from abroad
    out.plus = true;
    std::copy(out.digits.begin() + 2, out.digits.end(), out.digits.begin());
    out.n -= 2;
    out.groups[0] = static_cast<uint8_t>(out.groups[0] - std::min<size_t>(2, out.groups[0]));
  }
  return out.n >= 6;
}

DigitChain shortened(const DigitChain& chain) {
  DigitChain out = chain;
  if (out.n_groups < 2) return out;
  --out.n_groups;
  out.n -= out.groups[out.n_groups];
  out.end = out.group_ends[out.n_groups - 1];
  return out;
}

bool looks_like_date(const DigitChain& c) {
  const auto number = [&](size_t from, size_t n) {
    int value = 0;
    for (size_t i = from; i < from + n; ++i) value = value * 10 + (c.digits[i] - '0');
    return value;
  };
  if (c.n_groups < 3 || c.plus || c.bracket) return false;
  if (c.groups[0] == 4 && c.groups[1] <= 2 && c.groups[2] <= 2) return true;
  return c.groups[0] <= 2 && c.groups[1] <= 2 && (c.groups[2] == 4 || (c.groups[2] == 2 && c.n_groups == 3)) && c.n_groups <= 4 &&
         number(0, c.groups[0]) <= 31 && number(c.groups[0], c.groups[1]) <= 31 && c.n <= 8;
}

namespace {

class PhoneDetector final : public Detector {
 public:
  explicit PhoneDetector(LabelBook& book)
      : label_(book.add({"phone",        "phones",
                         "telephone",    "tel",
                         "tel.",         "tel no",
                         "mobile",       "cell",
                         "cellphone",    "cell phone",
                         "call",         "call me",
                         "viber",        "dial",
                         "ring",         "ring me",
                         "text me",      "sms",
                         "whatsapp",     "fax",
                         "hotline",      "helpline",
                         "landline",     "reach me",
                         "reach us",     "reach her",
                         "reach him",    "reach",
                         "contact",      "contact number",
                         "phone number", "mobile number",
                         "number is",    "ph",
                         "mob",          "cel",
                         "gsm",          "voicemail",
                         "callback",     "call back",
                         "switchboard",  "handy",
                         "telefon",      "telefono",
                         "teléfono",     "telefonnummer",
                         "mobil",        "handynummer",
                         "rufnummer",    "téléphone",
                         "portable",     "móvil",
                         "movil",        "celular",
                         "cellulare",    "cellulaire",
                         "telefone",     "telemóvel",
                         "telefoon",     "mobiel",
                         "puhelin",      "matkapuhelin",
                         "tlf",          "numéro",
                         "numer",        "komórka",
                         "telefonu",     "telefoon",
                         "anrufen",      "appelez",
                         "llámame",      "llame",
                         "ligue",        "chiama",
                         "телефон",      "тел",
                         "мобильный",    "звоните",
                         "позвоните",    "Телефон",
                         "Тел",          "Мобильный",
                         "Звоните",      "Позвоните",
                         "телефону",     "電話",
                         "电话",         "手機",
                         "手机",         "行動電話",
                         "市話",         "座機",
                         "座机",         "聯絡",
                         "联系",         "聯繫",
                         "撥打",         "拨打",
                         "致電",         "致电",
                         "傳真",         "传真",
                         "分機",         "來電",
                         "来电",         "打給",
                         "打给",         "專線",
                         "热线",         "熱線",
                         "號碼",         "号码",
                         "携帯",         "携帯電話",
                         "連絡先",       "でんわ",
                         "ファックス",   "전화",
                         "전화번호",     "휴대폰",
                         "핸드폰",       "연락처",
                         "연락",         "팩스",
                         "โทร",          "điện thoại",
                         "sđt",          "telp",
                         "hp",           "no. hp",
                         "wa",           "phone no",
                         "no telefon",   "फोन",
                         "मोबाइल",       "هاتف",
                         "جوال"})),
        other_(book.add(
            {"order",     "order no",  "order number", "invoice", "isbn",   "issn",      "serial",  "serial number", "tracking", "tracking number",
             "ticket",    "case no",   "id",           "ids",     "uuid",   "guid",      "sku",     "version",       "build",    "epoch",
             "timestamp", "unix time", "pid",          "port",    "ref",    "reference", "account", "acct",          "iban",     "card",
             "ssn",       "tax",       "vat",          "price",   "total",  "amount",    "bytes",   "commit",        "hash",     "issue",
             "pr",        "row",       "rows",         "line no", "record", "batch",     "lot",     "part no",       "model",    "msgid",
             "seq",       "offset",    "size",         "訂單",    "订单",   "編號",      "编号",    "單號",          "单号",     "序號",
             "序号",      "統編",      "統一編號",     "身分證",  "身份证", "帳號",      "账号",    "卡號",          "卡号",     "發票",
             "发票",      "金額",      "金额",         "版本",    "學號",   "学号",      "快递",    "運單",          "运单",     "銀行",
             "注文",      "주문"})) {}
  std::string_view name() const override { return "phone"; }
  bool reads(ViewKind kind) const override { return kind != ViewKind::reversed; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    for (size_t at = 0; at < text.size();) {
      const char c = text[at];
      const bool start = digit(c) || ((c == '+' || c == '(') && at + 1 < text.size() && (digit(text[at + 1]) || (c == '(' && text[at + 1] == '+')));
      if (!start) { ++at; continue; }
      DigitChain chain;
      if (!may_begin(text, at) || !read_chain(text, at, chain)) {
        while (at < text.size() && (digit(text[at]) || text[at] == '+' || text[at] == '(')) ++at;
        continue;
      }
      at = find_number(page, chain, out);
    }
  }

 private:
  static bool may_begin(std::string_view text, size_t at) {
    if (at == 0) return true;
    const char before = text[at - 1];
    if (digit(text[at]) && (before == '(' || before == '+')) return false;  // begun there
    if (letter(before)) {  // "\n0912…" in a string; "TEL0912…" is rare
      return at >= 2 && text[at - 2] == '\\' && (before == 'n' || before == 't');
    }
    return !(
        digit(before) || before == '_' || before == '$' || before == '\xa3' || before == '@' || before == '#' ||
        ((before == '.' || before == '-' || before == ',' || before == '/' || before == '%' || before == '&') && at >= 2 && alnum(text[at - 2])));
  }
  static bool may_end(std::string_view text, size_t end) {
    if (end >= text.size()) return true;
    const char next = text[end];
    if (alnum(next)) return next == 'x' || next == 'e';  // an extension; checked by its reader
    if (next == '_' || next == '%' || next == '@') return false;
    const bool more = end + 1 < text.size() && alnum(text[end + 1]);
    if (next == ',') return !(more && digit(text[end + 1]));
    return !((next == '-' || next == '.' || next == '/' || next == ':' || next == '+') && more);
  }

  // Where to read on.
  size_t find_number(const Page& page, const DigitChain& whole, std::vector<Hit>& out) const {
    const size_t next = std::max(whole.end, whole.begin + 1);
    const bool other = page.labels.before(other_, whole.begin, 24);
    const bool labelled = page.labels.before(label_, whole.begin, 40) || page.labels.after(label_, whole.end, 12);
    for (DigitChain chain = whole; chain.n >= 7 || (chain.n >= 6 && labelled); chain = shortened(chain)) {
      size_t end = chain.end;
      const bool extended = extend(page.text, end);
      if (extended || may_end(page.text, chain.end)) {
        std::string_view kind = "phone";
        const bool whole_chain = chain.n_groups == whole.n_groups || whole.separator != ' ';
        if (const float score = rate(page, chain, labelled, other, whole_chain, kind); score >= 0.3F) {
          out.push_back({PrivacyClass::phone, kind, chain.begin, end, score, score >= 0.85F});
          return std::max(end, chain.begin + 1);
        }
      }
      if (chain.n_groups < 2 || chain.n_groups + 3 <= whole.n_groups) break;
    }
    return next;
  }

  float rate(const Page& page, const DigitChain& chain, bool labelled, bool other, bool whole, std::string_view& kind) const {
    if (chain.n > 15 || (looks_like_date(chain) && !labelled)) return 0;
    if ((chain.cut || !whole) && !chain.plus && !labelled && chain.separator == ' ') return 0;  // a row of a table
    if (std::all_of(chain.digits.begin(), chain.digits.begin() + static_cast<std::ptrdiff_t>(chain.n), [&](char d) { return d == chain.digits[0]; })) return 0;
    if (chain.n_groups == 2 && chain.separator == '.' && chain.groups[0] <= 2 && !chain.plus) return 0;  // a decimal fraction
    if (chain.n_groups > 1 && chain.groups[chain.n_groups - 1] == 1) return 0;
    // An area code in brackets stands first, or behind one digit: "18 (2001) 116" is a volume and a year.
    if (chain.bracket && !chain.plus && page.text[chain.begin] != '(' && chain.groups[0] > 1) return 0;
    const bool formatted = chain.n_groups >= 2, excerpt = page.kind == ViewKind::squeezed || page.kind == ViewKind::numerals;
    bool known = false, trunk = false;
    std::string_view region;
    if (chain.plus) {
      const NumberKind found = plan_.international(chain.text(), known);
      if (found != NumberKind::none) {
        kind = found == NumberKind::mobile ? "mobile" : "fixed";
        return known ? 0.92F : formatted || labelled ? 0.8F : 0.6F;
      }
      return chain.n >= 8 && (labelled || (formatted && page.text[chain.begin] == '+')) ? 0.6F : 0;
    }
    if (page.kind == ViewKind::squeezed && !labelled) return 0;
    if (other && !labelled) return 0;
    const NumberKind found = plan_.national(chain.text(), trunk, region);
    if (found != NumberKind::none) kind = found == NumberKind::mobile ? "mobile" : "fixed";
    if (labelled && !other) {
      if (found != NumberKind::none) return 0.9F;
      // Numbers of a town, or with the calling code in front without a sign.
      if (chain.n >= 10 && plan_.international(chain.text(), known) != NumberKind::none && known) return 0.8F;
      return introduced(page, chain) && chain.n >= 6 && chain.n <= 13 && (formatted || chain.n <= 11) ? 0.6F : 0;
    }
    if (is_north_american(chain)) return 0.75F;
    if (found != NumberKind::none && chain.bracket && chain.n_groups >= 2 && chain.groups[0] <= 4 && chain.n >= 9) return 0.7F;  // "(11) 91234-5678"
    const bool china = chain.n == 11 && chain.digits[0] == '1' && chain.digits[1] >= '3' && plan_.within("CN", chain.text()) == NumberKind::mobile;
    if (china && (!formatted || chain.groups[0] == 3) && !labelled && !other) return 0.7F;
    if (found == NumberKind::none) {
      // "886-912-345-678"
      const bool code_first = formatted && chain.groups[0] <= 3 && chain.n >= 10 && chain.digits[0] != '0' && chain.separator != '.' && chain.separator != '/';
      return code_first && plan_.international(chain.text(), known) == NumberKind::mobile && known && !other ? 0.6F : 0;
    }
    if (labelled) return formatted || found == NumberKind::mobile ? 0.75F : 0.5F;
    if (trunk && formatted && chain.digits[0] == '0') return national_style(chain) ? 0.7F : 0;
    if (!formatted && found == NumberKind::mobile && trunk && chain.digits[0] == '0' && chain.n >= 10 && chain.n <= 11) return excerpt ? 0.6F : 0.65F;
    return 0;
  }

  bool introduced(const Page& page, const DigitChain& chain) const {
    return page.labels.introduces(label_, chain.begin) || page.labels.before(label_, chain.begin, 16);
  }

  // 3-3-4 with the digits that start an area and an exchange, assigned or not.
  static bool is_north_american(const DigitChain& c) {
    const size_t skip = c.n == 11 && c.digits[0] == '1' && c.groups[0] == 1 ? 1 : 0;
    if (c.n - skip != 10 || c.n_groups < 2 + skip || c.separator == '/' || (c.separator == '*' && !c.bracket && skip == 0)) return false;
    const bool style = c.n_groups - skip == 3 && c.groups[skip] == 3 && c.groups[skip + 1] == 3;
    const bool bracketed = c.bracket && c.n_groups - skip == 2 && c.groups[skip] == 3 && c.groups[skip + 1] == 7;
    return (style || bracketed) && c.digits[skip] >= '2' && c.digits[skip + 3] >= '2' && !(c.separator == '.' && skip == 1);
  }

  // How regions group numbers that begin with 0: two to five groups, the first an area or a network.
  static bool national_style(const DigitChain& c) {
    if (c.n_groups > 5 || c.n < 8 || c.n > 12) return false;
    if (c.separator == '/' && (c.n_groups > 2 || c.groups[1] < 5)) return false;
    if (c.n_groups == 2 && c.groups[0] == 5 && c.groups[1] == 4 && c.separator == '-') return false;  // a postcode of the United States
    size_t short_groups = 0;
    for (size_t i = 0; i < c.n_groups; ++i) short_groups += c.groups[i] == 1 || c.groups[i] > 8;
    if (short_groups > 0) return false;
    const bool pairs = c.n_groups == 5 && c.n == 10 && c.groups[0] == 2;  // France
    return pairs || (c.n_groups <= 4 && (c.groups[0] >= 3 || c.bracket || c.groups[c.n_groups - 1] >= 3) && !(c.separator == '.' && c.n_groups < 3));
  }

  // " ext. 12", " x12", "#12", 分機 12.
  static bool extend(std::string_view text, size_t& end) {
    size_t at = end;
    while (at < text.size() && at < end + 2 && (text[at] == ' ' || text[at] == ',')) ++at;
    for (const std::string_view word :
         {"ext.", "ext", "Ext.", "Ext", "EXT", "x", "X", "#", "分機", "分机", "轉", "转", "內線", "内线", "Durchwahl", "poste", "内線", "内"}) {
      if (!text.substr(at).starts_with(word)) continue;
      size_t from = at + word.size();
      while (from < text.size() && from < at + word.size() + 2 && (text[from] == ' ' || text[from] == ':' || text[from] == '.')) ++from;
      size_t to = from;
      while (to < text.size() && digit(text[to])) ++to;
      if (to == from || to - from > 6 || (to < text.size() && letter(text[to]))) return false;
      end = to;
      return true;
    }
    return false;
  }

  NumberPlan plan_;
  LabelSet label_, other_;
};

}  // namespace

std::unique_ptr<Detector> make_phone_detector(LabelBook& book) { return std::make_unique<PhoneDetector>(book); }

}  // namespace contact
