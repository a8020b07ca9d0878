// places: number plates of vehicles (Taiwan, China: class gov_id, for an office gives them) and positions on the globe.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include "privacy/characters.h"
#include "privacy/detect/contact/contact.h"

namespace contact {
namespace {

// 京A·12345, 沪AD12345: a province, a letter, five characters or six for electric cars.
constexpr std::string_view provinces = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼";

class PlateDetector final : public Detector {
 public:
  explicit PlateDetector(LabelBook& book)
      : label_(book.add({"車牌", "车牌", "車號", "车号", "牌照", "車牌號碼", "车牌号", "plate", "license plate", "licence plate", "number plate",
                         "registration", "plate number", "plate no", "汽車", "汽车", "機車", "轎車", "轿车"})) {}
  std::string_view name() const override { return "plate"; }
  char tier() const override { return 'b'; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    find_china(page.text, out);
    const std::string_view text = page.text;
    for (size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) find_taiwan(page, dash, out);
  }

 private:
  static void find_china(std::string_view text, std::vector<Hit>& out) {
    for (size_t at = first_beyond_ascii(text); at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      if (is_han(point.value) && provinces.find(text.substr(at, point.length)) != std::string_view::npos) read_china(text, at, at + point.length, out);
      at += point.length;
      at = first_beyond_ascii(text, at);
    }
  }
  static void read_china(std::string_view text, size_t begin, size_t at, std::vector<Hit>& out) {
    if (at >= text.size() || text[at] < 'A' || text[at] > 'Z') return;
    size_t end = at + 1;
    for (const std::string_view dot : {"\u00b7", "\u30fb", "\u2022", "-", " ", "."}) {
      if (text.substr(end).starts_with(dot)) { end += dot.size(); break; }
    }
    size_t n = 0, digits = 0;
    while (end < text.size() && n < 7 && (digit(text[end]) || (text[end] >= 'A' && text[end] <= 'Z'))) digits += digit(text[end]), ++end, ++n;
    if ((n == 5 || n == 6) && digits >= 2 && !(end < text.size() && letter(text[end]))) out.push_back({PrivacyClass::gov_id, "plate", begin, end, 0.85F, true});
  }

  // ABC-1234, 1234-AB, AB-1234: many part numbers look so, a label or two is asked for.
  void find_taiwan(const Page& page, size_t dash, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    size_t begin = dash, end = dash + 1, letters[2] = {0, 0}, digits[2] = {0, 0};
    while (begin > 0 && dash - begin < 5 && (digit(text[begin - 1]) || (text[begin - 1] >= 'A' && text[begin - 1] <= 'Z')))
      --begin, (digit(text[begin]) ? digits : letters)[0]++;
    while (end < text.size() && end - dash < 6 && (digit(text[end]) || (text[end] >= 'A' && text[end] <= 'Z')))
      (digit(text[end]) ? digits : letters)[1]++, ++end;
    const size_t left = dash - begin, right = end - dash - 1;
    if (left < 2 || right < 2 || left + right > 7 || left + right < 5) return;
    const bool left_letters = letters[0] == left && digits[1] == right, right_letters = digits[0] == left && letters[1] == right;
    if (!left_letters && !right_letters && !(letters[0] + letters[1] > 0 && digits[0] + digits[1] >= 4)) return;
    if ((begin > 0 && (alnum(text[begin - 1]) || text[begin - 1] == '-' || text[begin - 1] == '_')) ||
        (end < text.size() && (alnum(text[end]) || text[end] == '-' || text[end] == '_')))
      return;
    if (page.labels.near(label_, begin, end)) out.push_back({PrivacyClass::gov_id, "plate", begin, end, 0.8F});
  }

  LabelSet label_;
};

// "25.033964, 121.564468": two numbers with four decimals or more, within the globe; with letters of direction as well.
class PositionDetector final : public Detector {
 public:
  explicit PositionDetector(LabelBook& book)
      : label_(book.add({"gps",  "lat",  "latitude", "lng",    "lon",    "longitude", "coordinates", "coords", "location", "position", "geo", "map",
                         "maps", "座標", "坐标",     "經緯度", "经纬度", "緯度",      "纬度",        "經度",   "经度",     "定位",     "位置"})) {}
  std::string_view name() const override { return "position"; }
  char tier() const override { return 'b'; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    size_t done = 0;
    for (size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
      if (dot < done) continue;
      Number first, second;
      if (!read(text, dot, first) || first.decimals < 4 || std::fabs(first.value) > 90) continue;
      size_t at = first.end;
      at = skip_direction(text, at, "NSns");
      size_t gap = at;
      while (gap < text.size() && gap - at < 16 &&
             (text[gap] == ' ' || text[gap] == ',' || text[gap] == ';' || text[gap] == '/' || text[gap] == ':' || text[gap] == '"' ||
              text[gap] == '=' || letter(text[gap])))
        ++gap;
      size_t second_dot = gap;
      if (second_dot < text.size() && (text[second_dot] == '-' || text[second_dot] == '+')) ++second_dot;
      while (second_dot < text.size() && second_dot - gap < 5 && digit(text[second_dot])) ++second_dot;
      if (gap == at || second_dot >= text.size() || text[second_dot] != '.' || !read(text, second_dot, second)) continue;
      if (second.decimals < 4 || std::fabs(second.value) > 180 || second.begin != gap) continue;
      const bool words = std::any_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(gap), letter);
      const bool labelled = page.labels.near(label_, first.begin, second.end) || at != first.end;
      if (words && !names_longitude(text.substr(at, gap - at))) continue;
      if (!labelled && first.begin > 0 && (text[first.begin - 1] == '[' || text[first.begin - 1] == '{' || text.substr(second.end).starts_with("]")))
        continue;  // an array of a program
      // Two numbers of a table are no place: a label, or a comma between and decimals that only instruments give.
      const bool comma = text.substr(at, gap - at).find(',') != std::string_view::npos;
      if (!labelled && !(comma && first.decimals <= 8 && second.decimals <= 8 && first.decimals + 1 >= second.decimals &&
                         second.decimals + 1 >= first.decimals && std::fabs(first.value) >= 1 && std::fabs(second.value) >= 1))
        continue;
      done = skip_direction(text, second.end, "EWew");
      out.push_back({PrivacyClass::place, "position", first.begin, done, labelled ? 0.85F : 0.6F, true});
    }
  }

 private:
  static bool names_longitude(std::string_view gap) {
    for (const std::string_view word : {"lon", "lng", "Lon", "Lng", "LON", "and", "long"}) {
      if (gap.find(word) != std::string_view::npos) return true;
    }
    return false;
  }
  struct Number { size_t begin, end, decimals; double value; };
  static bool read(std::string_view text, size_t dot, Number& out) {
    size_t begin = dot, end = dot + 1;
    while (begin > 0 && dot - begin < 4 && digit(text[begin - 1])) --begin;
    if (begin == dot || dot - begin > 3) return false;
    if (begin > 0 && (text[begin - 1] == '-' || text[begin - 1] == '+')) --begin;
    if (begin > 0 && (alnum(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == '_')) return false;
    while (end < text.size() && end - dot < 20 && digit(text[end])) ++end;
    if (end < text.size() && (text[end] == '.' || digit(text[end]) || text[end] == '%') &&
        !(text[end] == '.' && end + 1 < text.size() && !digit(text[end + 1])))
      return false;
    out = {begin, end, end - dot - 1, std::strtod(std::string(text.substr(begin, end - begin)).c_str(), nullptr)};
    return true;
  }
  // "° N"
  static size_t skip_direction(std::string_view text, size_t end, std::string_view directions) {
    size_t at = end;
    if (text.substr(at).starts_with("\u00b0")) at += 2;
    while (at < text.size() && at - end < 4 && text[at] == ' ') ++at;
    if (at < text.size() && directions.find(text[at]) != std::string_view::npos && !(at + 1 < text.size() && letter(text[at + 1]))) return at + 1;
    return text.substr(end).starts_with("\u00b0") ? end + 2 : end;
  }

  LabelSet label_;
};

}  // namespace

std::unique_ptr<Detector> make_plate_detector(LabelBook& book) { return std::make_unique<PlateDetector>(book); }
std::unique_ptr<Detector> make_position_detector(LabelBook& book) { return std::make_unique<PositionDetector>(book); }

}  // namespace contact
