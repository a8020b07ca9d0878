// contact: the detectors of how to reach someone or something: mail, telephones, networks, places.
#include "privacy/detect/contact/contact.h"

void add_contact_detectors(LabelBook& book, Detectors& out) {
  using namespace contact;
  out.push_back(make_email_detector());
  out.push_back(make_phone_detector(book));
  out.push_back(make_ip_detector(book));
  out.push_back(make_mac_detector());
  out.push_back(make_url_detector());
  out.push_back(make_url_secret_detector());
  out.push_back(make_host_detector());
  out.push_back(make_handle_detector(book));
  out.push_back(make_plate_detector(book));
  out.push_back(make_position_detector(book));
}
