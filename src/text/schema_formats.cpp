// schema formats: the formats of JSON Schema as regular expressions; each is within what RFC and jsonschema's checker accept.
#include <algorithm>

#include "text/schema_meaning.h"

#define YEAR "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
#define LEAP_YEAR "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
#define DATE                                                                                                                                  \
  "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP_YEAR \
  "-02-29)"
#define HOUR "(?:[01][0-9]|2[0-3])"
#define TIME HOUR ":[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,6})?(?:Z|[+-]" HOUR ":[0-5][0-9])"
// Labels of at most 41 characters without "--", which marks encoded ones; the last one begins with a letter, so that it is no IPv4 address.
#define LABEL "[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20})?"
#define HOSTNAME "(?:" LABEL "\\.){0,5}[A-Za-z][A-Za-z0-9]{0,19}"
// Where nothing bounds its length.
#define HOST "(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\\.)*[A-Za-z][A-Za-z0-9]*"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LOCAL ATOM "(?:\\." ATOM ")*"
#define BYTE "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 BYTE "(?:\\." BYTE "){3}"
#define H "[0-9A-Fa-f]{1,4}"
#define IPV6                                                                                                                                    \
  "(?:(?:" H ":){7}" H "|(?:" H ":){1,7}:|(?:" H ":){1,6}:" H "|(?:" H ":){1,5}(?::" H "){1,2}|(?:" H ":){1,4}(?::" H "){1,3}|(?:" H ":){1,3}(?::" H \
  "){1,4}|(?:" H ":){1,2}(?::" H "){1,5}|" H ":(?::" H "){1,6}|:(?::" H "){1,7}|::)"
#define PCHAR "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
#define SEGMENTS "(?:/" PCHAR "*)*"
#define QUERY "(?:\\?(?:" PCHAR "|[/?])*)?(?:#(?:" PCHAR "|[/?])*)?"
#define AUTHORITY "(?:[A-Za-z0-9._~-]+@)?" HOST "(?::[0-9]{1,4})?"
#define URI "[A-Za-z][A-Za-z0-9+.-]*:(?://" AUTHORITY SEGMENTS "|" PCHAR "+" SEGMENTS ")" QUERY
#define REFERENCE "(?:" URI "|" SEGMENTS_ABSOLUTE QUERY "|" SEGMENT_PLAIN SEGMENTS QUERY "|" QUERY ")"
#define SEGMENTS_ABSOLUTE "(?:/" PCHAR "+)+/?"
#define SEGMENT_PLAIN "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})+"
// jsonschema takes no digit after a zero in the number of a relative pointer.
#define POINTER "(?:/(?:[^/~]|~[01])*)*"
#define DURATION_TIME "T(?:[0-9]{1,4}H(?:[0-9]{1,4}M(?:[0-9]{1,4}S)?)?|[0-9]{1,4}M(?:[0-9]{1,4}S)?|[0-9]{1,4}S)"
#define DURATION_DATE "(?:[0-9]{1,4}Y(?:[0-9]{1,4}M(?:[0-9]{1,4}D)?)?|[0-9]{1,4}M(?:[0-9]{1,4}D)?|[0-9]{1,4}D)"
#define HEX "[0-9A-Fa-f]"

static constexpr SchemaFormat kFormats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^P(?:" DURATION_DATE "(?:" DURATION_TIME ")?|" DURATION_TIME "|[0-9]{1,4}W)$"},
    {"email", "^" LOCAL "@" HOST "$"},
    {"idn-email", "^" LOCAL "@" HOST "$"},
    {"hostname", "^" HOSTNAME "$"},
    {"idn-hostname", "^" HOSTNAME "$"},
    {"ipv4", "^" IPV4 "$"},
    {"ipv6", "^" IPV6 "$"},
    {"uuid", "^" HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}$"},
    {"uri", "^" URI "$"},
    {"iri", "^" URI "$"},
    {"uri-reference", "^" REFERENCE "$"},
    {"iri-reference", "^" REFERENCE "$"},
    {"uri-template", "^(?:" PCHAR "|[/?#]|\\{[A-Za-z][A-Za-z0-9_]*\\})*$"},
    {"json-pointer", "^" POINTER "$"},
    {"relative-json-pointer", "^(?:0|[1-9]{1,4}0?)(?:#|" POINTER ")$"},
    {"regex", ""},
    {"color", "^#[0-9A-Fa-f]{6}$"},
};

const SchemaFormat* find_schema_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &SchemaFormat::name);
  return found == std::end(kFormats) ? nullptr : found;
}
