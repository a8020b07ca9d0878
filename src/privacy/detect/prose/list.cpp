// prose: the detectors of people, addresses, dates of birth and health.
#include "privacy/detect/detect.h"

void add_prose_detectors(LabelBook&, Detectors&) {}
