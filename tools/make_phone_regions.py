#!/usr/bin/env python3
"""make_phone_regions: writes src/privacy/detect/contact/phone_regions.cpp: calling codes, national prefixes and number patterns of regions.

The facts are those of libphonenumber's metadata (Apache-2.0, Google), read through the package "phonenumbers" (PyPI, Apache-2.0).
    python3 -m venv v && v/bin/pip install phonenumbers regex && v/bin/python tools/make_phone_regions.py
"""
import pathlib
import re
import phonenumbers
import regex
from phonenumbers import PhoneMetadata

REGIONS = ("US CA CN TW HK MO JP KR SG GB DE FR AU IN BR MX AR CL CO PE IT ES PT NL BE CH AT SE NO DK FI IE PL CZ SK HU RO BG GR HR UA RU TR IL SA AE EG "
           "ZA NG KE TH VN MY ID PH NZ PK BD LK MM KH").split()
KINDS = ("fixed_line", "toll_free", "premium_rate", "shared_cost", "voip", "uan", "personal_number")


def pattern_of(descriptions) -> str:
    parts = []
    for description in descriptions:
        text = description and description.national_number_pattern
        if text and text != "NA" and text not in parts:
            parts.append(re.sub(r"\s", "", text))
    return "|".join(parts)


def first_two(pattern: str) -> str:
    """Which pairs of digits a number may begin with, as 100 bits in hexadecimal, bit 0 for 00."""
    compiled = regex.compile(pattern)
    bits = 0
    for pair in range(100):
        if compiled.fullmatch(f"{pair:02d}", partial=True):
            bits |= 1 << pair
    return f"{{0x{bits & (1 << 64) - 1:x}, 0x{bits >> 64:x}}}"


def literal(text: str) -> list[str]:
    lines = [text[at:at + 130] for at in range(0, len(text), 130)] or [""]
    return [f'     R"({line})"' for line in lines]


def main() -> None:
    out = ["// phone_regions: written by tools/make_phone_regions.py from libphonenumber's metadata (Apache-2.0) "
           f"as of phonenumbers {phonenumbers.__version__}.",
           '#include "privacy/detect/contact/phone_regions.h"', "", "namespace contact {", "namespace {", "", "constexpr PhoneRegion regions[] = {"]
    for name in REGIONS:
        data = PhoneMetadata.metadata_for_region(name)
        mobile = pattern_of([data.mobile])
        fixed = pattern_of([getattr(data, kind) for kind in KINDS])
        lengths = sum(1 << n for n in data.general_desc.possible_length)
        both = f"(?:{fixed})|(?:{mobile})"
        out.append(f'    {{"{name}", {data.country_code}, "{data.national_prefix or ""}", 0x{lengths:x}, {first_two(both)},')
        out += literal(mobile)
        out[-1] += ","
        out += literal(fixed)
        out[-1] += "},"
    codes = sorted(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)
    out += ["};", "", "constexpr uint16_t codes[] = {"]
    for at in range(0, len(codes), 30):
        out.append("    " + " ".join(f"{code}," for code in codes[at:at + 30]))
    out += ["};", "", "}  // namespace", "", "std::span<const PhoneRegion> phone_regions() { return regions; }",
            "std::span<const uint16_t> calling_codes() { return codes; }", "", "}  // namespace contact", ""]
    path = pathlib.Path(__file__).parent.parent / "src/privacy/detect/contact/phone_regions.cpp"
    path.write_text("\n".join(out))


if __name__ == "__main__":
    main()
