// prose: the list of this family's detectors.
#include "privacy/detect/prose/detectors.h"

void add_prose_detectors(LabelBook& book, Detectors& out) {
  out.push_back(make_names());
  out.push_back(make_dates(book));
  out.push_back(make_health());
  out.push_back(make_amounts());
}
