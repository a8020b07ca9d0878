// scanner: a Scanner of given detectors; Scanner::make gives it all of them.
#pragma once
#include <memory>
#include "privacy/detect/detect.h"
#include "privacy/scan.h"

Result<std::shared_ptr<const Scanner>> make_scanner(ScanOptions options, std::unique_ptr<LabelBook> book, Detectors detectors, std::shared_ptr<SpanModel> model = nullptr);
