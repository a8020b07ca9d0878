// prose: embeds prose.bin in the program and finds its sections.
#include "privacy/detect/prose/model.h"
#include <cstring>
#include "core/core.h"

#if defined(__APPLE__)
#define PROSE_SECTION "__TEXT,__const"
#define PROSE_SYMBOL "_calla_prose_model"
#else
#define PROSE_SECTION ".rodata.calla_prose,\"a\""
#define PROSE_SYMBOL "calla_prose_model"
#endif
// PROSE_MODEL is the file's path, from the build.
asm(".pushsection " PROSE_SECTION "\n"
    ".balign 64\n"
    ".globl " PROSE_SYMBOL "\n" PROSE_SYMBOL ":\n"
    ".incbin \"" PROSE_MODEL "\"\n"
    ".zero 64\n"  // rows of weights are read sixteen bytes at a time
    ".popsection\n");
extern "C" const unsigned char calla_prose_model[];

namespace {

// The file: magic, then a table of sections {name, offset, bytes}, offsets being multiples of 64. Little-endian.
constexpr std::string_view magic = "CALLAPM1";
struct Section { char name[8]; uint32_t offset, bytes; };

struct File {
  uint32_t n_sections;
  const Section* sections;
  template <class T> std::span<const T> find(std::string_view name) const {
    for (uint32_t i = 0; i < n_sections; ++i) {
      const Section& section = sections[i];
      if (name == std::string_view(section.name, strnlen(section.name, sizeof section.name)))
        return {reinterpret_cast<const T*>(calla_prose_model + section.offset), section.bytes / sizeof(T)};
    }
    return {};
  }
};

ProseModel read_model() {
  CHECK(std::memcmp(calla_prose_model, magic.data(), magic.size()) == 0);
  File file{};
  std::memcpy(&file.n_sections, calla_prose_model + magic.size(), sizeof file.n_sections);
  file.sections = reinterpret_cast<const Section*>(calla_prose_model + 16);
  ProseModel model;
  const auto header = file.find<char>("header");
  model.header = {header.data(), header.size()};
  model.lexicon = file.find<LexiconEntry>("lexicon");
  model.traditional = file.find<uint32_t>("t2s");
  model.han_words = file.find<uint8_t>("hanwords");
  model.latin_weights = file.find<int8_t>("latinw");
  model.han_weights = file.find<int8_t>("hanw");
  model.latin_links = file.find<float>("latinl");
  model.han_links = file.find<float>("hanl");
  CHECK(!model.lexicon.empty() && !model.han_words.empty());
  return model;
}

}  // namespace

const LexiconEntry& ProseModel::word(uint32_t hash) const {
  static constexpr LexiconEntry unknown{};
  const size_t mask = lexicon.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    if (lexicon[at].hash == hash) return lexicon[at];
    if (lexicon[at].hash == 0) return unknown;
  }
}

bool ProseModel::han_word(uint64_t key) const {
  const uint64_t mask = han_words.size() * 8 - 1, step = (key >> 32) | 1;
  for (int i = 0; i < 6; ++i, key += step) {
    if ((han_words[(key & mask) / 8] >> (key & 7) & 1) == 0) return false;
  }
  return true;
}

const ProseModel& prose_model() {
  static const ProseModel model = read_model();
  return model;
}
