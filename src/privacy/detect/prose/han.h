// prose: what our lists say about Chinese characters and terms. All in simplified characters; texts are simplified before they are looked up.
#pragma once
#include <cstddef>
#include "privacy/detect/prose/tokens.h"

enum HanClass : uint32_t {
  han_surname = 1u << 0,      // 王, 欧阳
  han_title = 1u << 1,        // 先生: follows a name
  han_introducer = 1u << 2,   // 我叫, 姓名: a name follows
  han_role = 1u << 3,         // 同事, 客户: a name may follow
  han_short_title = 1u << 4,  // 董, 总, 哥: follows a bare surname
  han_function = 1u << 5,     // 的, 在, 是: never in a name
  han_province = 1u << 6,     // 北京, 台湾: begins an address without 省 or 市
  han_region_unit = 1u << 7,  // 省 市 县 区 乡 镇 村 里
  han_road_unit = 1u << 8,    // 路 街 大道 巷 弄 段
  han_number_unit = 1u << 9,  // 号 楼 室 栋 单元: after a number
  han_organisation = 1u << 10,  // 公司, 银行: ends a name
  han_condition = 1u << 11,
  han_care = 1u << 12,        // 确诊, 服用
  han_given = 1u << 13,       // character that is usual in given names
  han_digit = 1u << 14,       // 一 … 十, 〇
  han_currency = 1u << 15,
  han_speech = 1u << 16,      // 说, 表示: follows a name
  han_nick = 1u << 17,        // 小, 老, 阿: precedes one
  han_transliteration = 1u << 18,  // 尔 斯 克: foreign names
  han_address_label = 1u << 19,    // 地址, 住
};

uint32_t simplified(uint32_t code);
uint32_t han_character_classes(uint32_t simplified_code);

struct HanTerm { size_t n = 0; uint32_t classes = 0; };  // n characters; 0: none
// The longest of our terms of two or more characters that begins at token `at`.
HanTerm han_term(const Tokens& tokens, size_t at);
// The longest that ends before token `end`, of those that have one of `classes`.
HanTerm han_term_before(const Tokens& tokens, size_t end, uint32_t classes);
// Whether n characters from `at` are an ordinary word of the dictionary.
bool han_ordinary(const Tokens& tokens, size_t at, size_t n);
inline bool is_han(const Tokens& tokens, size_t at) { return at < tokens.size() && tokens[at].kind == TokenKind::han; }
