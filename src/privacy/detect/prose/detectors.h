// prose: the detectors of this family.
#pragma once
#include "privacy/detect/detect.h"

std::unique_ptr<Detector> make_names();  // people, organisations, places, addresses: rules and the tagger
std::unique_ptr<Detector> make_dates(LabelBook& book);    // dates of birth, other dates
std::unique_ptr<Detector> make_health();  // statements
std::unique_ptr<Detector> make_amounts();
