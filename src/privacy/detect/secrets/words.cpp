// words: lists of whole words that are no secrets.
#include "privacy/detect/secrets/words.h"

namespace credential {

namespace {

WordSet split(std::string_view list) {
  WordSet out;
  size_t at = 0;
  while (at < list.size()) {
    const size_t end = std::min(list.find(' ', at), list.size());
    if (end > at) out.emplace(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

const WordSet& stand_in_words() {
  static const WordSet words = split(
      "your my the a an our some any this that insert replace enter put add use here there me it with in of for and or to from is "
      "api apikey apisecret key keys token tokens secret secrets password passwd pass pwd passphrase passcode credential credentials auth "
      "authentication authorization access client "
      "private public account user username login admin root id value values val string str text number name file path variable env environment "
      "example examples sample samples dummy test testing tests fake mock foo bar baz qux foobar placeholder change changeme changeit todo fixme tbd "
      "na redacted masked "
      "hidden removed censored omitted scrubbed sanitized filtered none null nil undefined empty blank default unset unknown optional required "
      "true false yes no on off xxx xxxx xx real actual goes generated random long very super something whatever anything temp tmp new old current "
      "app application service server host db database bearer basic base64 encoded encrypted hash hashed raw plain plaintext "
      "openai anthropic google aws azure github gitlab stripe slack hf huggingface cloud project org team repo sk pk live prod dev staging local "
      "dein deine votre mon ma tu su sua aqui ici hier");
  return words;
}

const WordSet& plain_words() {
  static const WordSet words = split(
      "incorrect wrong required invalid expired missing not too weak strong correct reset set stored hashed encrypted empty blank the a an my your "
      "our their his her its in on at of "
      "for to by with without from into via and or but if when while because since so as than then that this these those it he she they we you i is "
      "are was were be been being "
      "same different unique changed updated lost forgotten compromised leaked exposed shared protected secure insecure safe unsafe valid verified "
      "unverified unknown known visible hidden "
      "masked case-sensitive sensitive needed necessary mandatory optional optionally allowed disallowed forbidden disabled enabled used unused "
      "using never always only just also still "
      "now already currently usually often normally typically automatically generated random randomly unset undefined null none nil true false yes "
      "no default string str text bytes "
      "byte bool boolean int integer float number object array list dict map char varchar any void optional secretstr sensitivestring password "
      "passwd passphrase passcode pass pwd secret token "
      "key username user login account email name id value field input form label title hint prompt message error warning "
      "success failure failed denied granted accepted rejected matched mismatch long short longer shorter simple complex easy hard good bad ok okay "
      "fine "
      "available unavailable present absent provided given supplied entered typed sent received displayed shown printed logged saved kept written "
      "read passed "
      "correctly incorrectly properly there here where what which who how why everything nothing something anything one two three four five six "
      "seven eight nine ten "
      "admin administrator root guest public private personal local remote temporary permanent old new current previous next first last initial "
      "original "
      "less more most least between above below over under before after until during within outside inside "
      "readonly writeonly required_without nullable confirmed string|null hash salted plaintext plain cleartext encoded decoded base64 hex ascii "
      "unicode "
      "authentication authorization validation verification confirmation recovery restoration management manager policy policies protection security "
      "strength "
      "placeholder autocomplete textfield checkbox hiddenfield minlength maxlength pattern regex type types format formats style class "
      "file path url uri host port server client database environment variable variables configuration config settings parameter parameters argument "
      "arguments option options "
      "example sample test testing dummy fake foo bar baz foobar todo changeme unspecified unchanged unlocked locked identical equal equivalent "
      "similar "
      "dictionary common obvious guessable predictable breached pwned reused recycled rotated revoked refreshed issued signed bound scoped "
      "important critical essential vital crucial great terrible horrible awful interesting probably maybe perhaps possibly likely unlikely "
      "going coming getting having doing making taking asking trying looking working running waiting "
      "required. incorrect. wrong. literally basically exactly really quite rather pretty very extremely "
      "correcto incorrecta incorrecto incorrecte incorreta incorreto falsch richtig obligatoire requerida necesaria requise erforderlich obligatorio "
      "obligatoria inválida invalide ungültig "
      "obligatoria expirada expiré abgelaufen caducada muy zu très demasiado trop nicht no pas não nie no debe muss doit deve einem einer eine sehr");
  return words;
}

const WordSet& file_endings() {
  static const WordSet words = split(
      "pem key crt cer pfx p12 jks txt json yaml yml toml ini cfg conf env xml html htm md rst py js ts tsx jsx go rs c cc cpp h hpp java kt rb php "
      "sh bat ps1 sql csv log "
      "png jpg jpeg gif svg pdf zip tar gz css scss vue lock bin dat db properties asc gpg pub com org net io dev example local");
  return words;
}

}  // namespace credential
