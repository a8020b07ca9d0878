// list: all detectors. A new family is a folder, a declaration in detect.h and a line here.
#include "privacy/detect/detect.h"

Detectors all_detectors(LabelBook& book) {
  Detectors out;
  add_credential_detectors(book, out);
  add_number_detectors(book, out);
  add_contact_detectors(book, out);
  add_prose_detectors(book, out);
  return out;
}
