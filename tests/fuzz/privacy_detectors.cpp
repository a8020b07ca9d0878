// privacy_detectors: detectors of credentials and contact details give spans inside the text, whatever bytes they read.
#include <cstdlib>
#include <string_view>
#include "privacy/detect/detect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  struct All {
    LabelBook book;
    Detectors detectors;
    All() {
      add_credential_detectors(book, detectors);
      add_contact_detectors(book, detectors);
      book.build();
    }
  };
  static const All all;
  const View view = folded({reinterpret_cast<const char*>(data), size});
  const Labels labels(all.book, view.text);
  const Page page{view.text, ViewKind::folded, labels};
  std::vector<Hit> hits;
  for (const auto& detector : all.detectors) detector->find(page, hits);
  for (const Hit& hit : hits) {
    if (hit.begin >= hit.end || hit.end > view.text.size()) std::abort();
  }
  return 0;
}
