// canonical: one spelling of a JSON text, and its hash: what a consent is bound to.
#pragma once
#include <string>
#include <string_view>

// SHA-256 of the text with the keys of every object sorted and no spaces, in hexadecimal; "" when it is no JSON.
std::string canonical_sha256(std::string_view json);
