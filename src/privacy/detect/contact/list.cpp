// contact: the detectors of ways to reach somebody.
#include "privacy/detect/detect.h"

void add_contact_detectors(LabelBook&, Detectors&) {}
