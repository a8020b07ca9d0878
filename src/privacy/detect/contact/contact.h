// contact: the detectors of this folder.
#pragma once
#include <memory>
#include "core/core.h"
#include "privacy/detect/detect.h"

namespace contact {

std::unique_ptr<Detector> make_email_detector();
std::unique_ptr<Detector> make_phone_detector(LabelBook& book);
std::unique_ptr<Detector> make_ip_detector(LabelBook& book);
std::unique_ptr<Detector> make_mac_detector();
std::unique_ptr<Detector> make_url_detector();         // tier c
std::unique_ptr<Detector> make_url_secret_detector();
std::unique_ptr<Detector> make_host_detector();
std::unique_ptr<Detector> make_handle_detector(LabelBook& book);
std::unique_ptr<Detector> make_plate_detector(LabelBook& book);     // tier b, like the next
std::unique_ptr<Detector> make_position_detector(LabelBook& book);

inline bool digit(char c) { return c >= '0' && c <= '9'; }
inline bool letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
inline bool alnum(char c) { return digit(c) || letter(c); }
inline bool hex_digit(char c) { return digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

}  // namespace contact
