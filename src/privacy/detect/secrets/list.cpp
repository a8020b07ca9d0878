// secrets: the detectors of keys, tokens and passwords.
#include "privacy/detect/secrets/secrets.h"

void add_credential_detectors(LabelBook& book, Detectors& out) {
  using namespace credential;
  out.push_back(make_token_detector());
  out.push_back(make_key_block_detector());
  out.push_back(make_connection_detector());
  out.push_back(make_header_detector());
  out.push_back(make_file_detector());
  out.push_back(make_assignment_detector());
  out.push_back(make_seed_detector(book));
}
