// secrets: the detectors of this folder.
#pragma once
#include <memory>
#include <string_view>
#include "core/core.h"
#include "privacy/detect/detect.h"

namespace credential {

std::unique_ptr<Detector> make_token_detector();       // tokens.cpp: credentials with a prefix, web tokens
std::unique_ptr<Detector> make_key_block_detector();   // key_blocks.cpp: PEM, PuTTY, PGP
std::unique_ptr<Detector> make_header_detector();      // headers.cpp: Authorization, cookies, curl -u
std::unique_ptr<Detector> make_connection_detector();  // connections.cpp: scheme://user:password@host, JDBC
std::unique_ptr<Detector> make_file_detector();        // files.cpp: password hashes, .pgpass, Kubernetes secrets
std::unique_ptr<Detector> make_assignment_detector();  // assignments.cpp: "password is …", api_key = "…", codes
std::unique_ptr<Detector> make_seed_detector(LabelBook& book);        // seeds.cpp: BIP-39

bool token_may_begin(std::string_view text, size_t at);  // no letter or digit before, unless of an escape

}  // namespace credential
