// secrets: the detectors of keys, tokens and passwords.
#include "privacy/detect/detect.h"

void add_credential_detectors(LabelBook&, Detectors&) {}
