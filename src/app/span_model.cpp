// span_model: opens a token classifier, and reads its labels as classes.
#include "app/span_model.h"

#include <algorithm>
#include <thread>
#include "app/text_parts.h"
#include "engine/classify.h"

namespace {

struct LabelRow { PrivacyClass cls; std::string_view labels; };  // with a blank around each

// Names that published sets of labels for private data and for named entities use.
constexpr LabelRow rows[] = {
    {PrivacyClass::person, " per person personname privateperson name fullname firstname middlename lastname givenname surname familyname prefix title patient doctor "},
    {PrivacyClass::place, " loc location gpe city town county state province region country fac facility "},
    {PrivacyClass::address,
     " address privateaddress street streetname streetaddress secondaryaddress building buildingnum buildingnumber housenumber postcode postalcode zip zipcode coordinate geocoord nearbygpscoordinate "},
    {PrivacyClass::org, " org organization organisation company companyname employer "},
    {PrivacyClass::email, " mail email emailaddress privateemail "},
    {PrivacyClass::phone, " phone phonenum phonenumber privatephone tel telephone telephonenum telephonenumber mobile fax faxnumber "},
    {PrivacyClass::card, " card cardnumber creditcard creditcardnumber debitcard paymentcard cvv creditcardcvv "},
    {PrivacyClass::iban, " iban "},
    {PrivacyClass::bank, " account accountnum accountnumber bankaccount bic swift routingnumber "},
    {PrivacyClass::crypto, " crypto wallet bitcoinaddress ethereumaddress litecoinaddress "},
    {PrivacyClass::gov_id,
     " id idnum idnumber idcard idcardnum nationalid ssn socialnum socialnumber socialsecuritynumber passport passportnum passportnumber driverlicense driverlicensenum driverslicense "
     "taxid taxnum taxnumber medicalrecord medicalrecordnumber vehiclevin vehiclevrm licenseplate "},
    {PrivacyClass::secret, " secret key apikey token pass password passcode pin credential credentials "},
    {PrivacyClass::dob, " dob bod birthday birthdate dateofbirth "},
    {PrivacyClass::date, " date privatedate time datetime "},
    {PrivacyClass::health, " health condition medicalcondition disease diagnosis "},
    {PrivacyClass::ip, " ip ipv ipaddress "},
    {PrivacyClass::mac, " mac macaddress "},
    {PrivacyClass::host, " host hostname "},
    {PrivacyClass::url, " url uri privateurl "},
    {PrivacyClass::handle, " username userid user handle login accountname "},
    {PrivacyClass::amount, " money amount "},
};

// Its letters, lower; bytes beyond ASCII stay, so that what they spell is never another word.
std::string letters_of(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + ('a' - 'A'));
    else if ((c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80) out += c;
  }
  return out;
}

// A label that won counts, however narrowly; a rule that is sure scores higher than any model.
float score_of(float probability) { return 0.6f + 0.3f * std::clamp(probability, 0.0f, 1.0f); }

class LabelledSpans final : public SpanModel {
 public:
  static Result<std::shared_ptr<SpanModel>> open(const std::string& path) {
    auto opened = std::make_shared<LabelledSpans>();
    TRY(opened->file_, open_weights(path));
    DeviceOptions options;
    options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u));
    TRY(auto device, make_cpu_device(options));
    TRY(LoadedModel loaded, load_model(*opened->file_, *device));
    TRY(auto tokenizer, open_tokenizer(*opened->file_));
    TRY(opened->classifier_, TokenClassifier::make(std::move(device), std::move(loaded.model), std::move(tokenizer), {}));
    for (const std::string& label : opened->classifier_->labels()) {
      const std::string_view name = span_label(label);
      if (!name.empty() && !class_of_label(name)) return Error{Code::unsupported, "cannot use the token classifier " + path + ": its label " + label + " stands for no class that is known here"};
    }
    return std::shared_ptr<SpanModel>(std::move(opened));
  }

  Result<std::vector<Span>> spans(std::string_view text) override {
    TRY(const auto labelled, classifier_->classify(text));
    std::vector<Span> out;
    for (const LabelledSpan& span : labelled) {
      const auto cls = class_of_label(span.label);
      if (!cls) return Error{Code::internal, "cannot read the labels of a text: " + span.label + " stands for no class"};
      out.push_back({*cls, letters_of(span.label), span.begin, span.end, score_of(span.score)});
    }
    return out;
  }

 private:
  std::unique_ptr<WeightFile> file_;  // the model may borrow its mapping
  std::unique_ptr<TokenClassifier> classifier_;
};

}  // namespace

std::optional<PrivacyClass> class_of_label(std::string_view label) {
  const std::string word = " " + letters_of(label) + " ";
  if (word.size() == 2) return std::nullopt;
  const auto row = std::ranges::find_if(rows, [&](const LabelRow& known) { return known.labels.find(word) != std::string_view::npos; });
  return row == std::end(rows) ? std::nullopt : std::optional(row->cls);
}

Result<std::shared_ptr<SpanModel>> open_span_model(const ModelTier& tier) {
  if (tier.path.empty()) return std::shared_ptr<SpanModel>();
  auto opened = LabelledSpans::open(tier.path);
  if (!opened) return Error{opened.error().code, tier.where + ": " + opened.error().message};
  return opened;
}
