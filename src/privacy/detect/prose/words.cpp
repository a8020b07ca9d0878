// prose: the English word lists, ours.
#include "privacy/detect/prose/words.h"
#include "privacy/detect/prose/tokens.h"

namespace {

constexpr size_t n_slots = 8192;  // a power of two, four times the words

struct List { uint32_t classes; std::string_view words; };
constexpr List lists[] = {
    {title_word, "mr mrs ms miss mx dr prof professor sir madam madame rev reverend fr sgt sergeant capt captain lt lieutenant col colonel major gen general "
                 "judge justice senator sen rep hon sr herr frau monsieur mme mlle señor señora sra srta don doña dame lord lady sister brother nurse doctor pastor "
                 "father rabbi imam sheikh attorney officer detective inspector president chairman minister coach uncle aunt auntie"},
    {name_suffix, "jr sr ii iii iv phd md esq dds cpa rn"},
    {particle, "van von de der den del della di da dos das du la le el al bin ibn binti bint abu ben ter ten zu zur vom af av mac y e dela"},
    {month_word, "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec "
                 "januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août septembre octobre novembre décembre "
                 "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre"},
    {weekday_word, "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"},
    {street_word, "street st avenue ave av road rd boulevard blvd lane ln drive dr way court ct place pl terrace ter square sq circle cir parkway pkwy highway hwy "
                  "trail trl alley crescent cres close grove row mews gardens gdns walk plaza loop path pike turnpike expressway hill rise quay wharf "
                  "strasse straße str gasse weg platz allee straat laan plein gracht kade gatan gata väg vägen katu tie vej gade utca ulica ul caddesi sokak marg nagar salai"},
    {street_prefix, "rue avenue av boulevard bd place chemin allée allee quai impasse route cours via viale piazza corso largo vicolo calle avenida avda paseo plaza carrera camino "
                    "rua travessa praça praca estrada rodovia ulica ul jalan jl jln strada calea bulevardul"},
    {unit_word, "apt apartment suite ste unit flat room rm floor fl building bldg block blk lot trailer space"},
    {direction_word, "north south east west n s e w ne nw se sw northeast northwest southeast southwest"},
    {company_suffix, "inc incorporated llc ltd limited gmbh corp corporation plc llp lp ag kg ug sa sas sarl srl spa bv nv oy ab as aps kk pty pte bhd oyj"},
    {organisation_word, "university college school hospital clinic bank institute academy church foundation association society council committee ministry department "
                        "agency company group holdings partners ventures capital industries systems technologies solutions services labs laboratories press media "
                        "airlines motors insurance museum library union federation trust charity embassy authority commission bureau centre center club league party court"},
    {greeting_word, "dear hi hello hey thanks thank thx cheers morning afternoon evening welcome goodbye bye congrats congratulations sorry yo"},
    {label_word, "name names customer client patient employee recipient sender author from to cc bcc applicant tenant contact owner attendee attendees assignee assigned reporter "
                 "reviewer manager supervisor beneficiary payee payer cardholder holder guest passenger student teacher parent guardian spouse member user username "
                 "signed signature signatory attn attention participant participants candidate interviewer doctor physician witness plaintiff defendant insured "
                 "policyholder buyer seller surname forename firstname lastname fullname first_name last_name full_name customer_name driver subscriber caller agent approver "
                 "prepared submitted requested approved emergency next kin mr nombre nom vorname nachname cognome"},
    {introducer_word, "named called name patient client customer employee colleague contact signed attn by with from dear resident tenant witness suspect defendant plaintiff "
                      "nominee mentee intern classmate neighbour neighbor roommate flatmate assistant secretary"},
    {relation_word, "wife husband son daughter mother father mom mum dad sister brother cousin uncle aunt nephew niece grandmother grandfather grandma grandpa friend boyfriend "
                    "girlfriend partner fiancé fiancée fiance fiancee boss colleague coworker neighbour neighbor landlord teammate buddy manager"},
    {speech_word, "said says say asked asks told tells replied wrote writes added explained answered thinks thought called emailed texted confirmed admitted argued noted "
                  "suggested insisted announced reported claims claimed warned agreed laughed smiled joined left arrived lives lived works worked moved married died born"},
    {country_word, "afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan "
                   "bolivia bosnia botswana brazil brunei bulgaria burundi cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark djibouti "
                   "ecuador egypt eritrea estonia ethiopia fiji finland france gabon gambia georgia germany ghana greece greenland grenada guatemala guinea guyana haiti honduras "
                   "hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya "
                   "liechtenstein lithuania luxembourg macau madagascar malawi malaysia maldives mali malta mauritania mauritius mexico moldova monaco mongolia montenegro morocco "
                   "mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan palestine panama paraguay peru philippines poland portugal qatar "
                   "romania russia rwanda samoa senegal serbia seychelles singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan tajikistan "
                   "tanzania thailand togo tonga tunisia turkey turkmenistan tuvalu uganda ukraine uruguay uzbekistan vanuatu venezuela vietnam yemen zambia zimbabwe england "
                   "scotland wales usa uk uae europe asia africa america antarctica oceania"},
    {nationality_word, "american british english scottish welsh irish french german italian spanish portuguese dutch belgian swiss austrian swedish norwegian danish finnish "
                       "icelandic polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian chinese japanese korean taiwanese vietnamese thai indian pakistani "
                       "bangladeshi indonesian malaysian filipino australian canadian mexican brazilian argentine argentinian chilean colombian peruvian cuban egyptian moroccan "
                       "nigerian kenyan ethiopian african european asian arab israeli iranian iraqi saudi afghan syrian jewish muslim christian catholic buddhist hindu latin mandarin cantonese"},
    {state_code, "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc pr "
                 "on qc bc ab mb sk ns nb nl pe nsw vic qld act tas"},
    {region_word, "alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland "
                  "massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin wyoming "
                  "ontario quebec québec alberta manitoba saskatchewan bavaria saxony brittany normandy provence catalonia andalusia lombardy tuscany sicily kerala punjab gujarat maharashtra "
                  "karnataka bengal queensland tasmania yorkshire kent sussex essex surrey devon cornwall"},
    {condition_word, "hepatitis diabetes diabetic cancer tumor tumour leukemia leukaemia lymphoma melanoma carcinoma hiv aids asthma epilepsy epileptic schizophrenia schizophrenic bipolar "
                     "depression depressed anxiety ptsd adhd autism autistic dementia alzheimer alzheimers parkinson parkinsons arthritis hypertension anemia anaemia anorexia bulimia "
                     "alcoholism addiction overdose miscarriage abortion infertility pregnancy pregnant chlamydia gonorrhea gonorrhoea syphilis herpes tuberculosis pneumonia bronchitis migraine migraines "
                     "stroke seizure seizures psoriasis eczema endometriosis fibromyalgia lupus cirrhosis pancreatitis thrombosis sclerosis insomnia psychosis psychotic suicidal "
                     "obesity osteoporosis glaucoma cataract covid sepsis appendicitis colitis crohn crohns celiac coeliac hemophilia haemophilia hypothyroidism hyperthyroidism "
                     "neuropathy nephropathy arrhythmia angina cardiomyopathy metastasis metastatic malignant ocd paranoia delirium incontinence impotence menopause jaundice gout shingles measles"},
    {care_word, "diagnosed diagnosis prognosis prescribed prescription therapy therapist psychiatrist psychologist oncologist oncology chemotherapy chemo dialysis surgery biopsy rehab "
                "detox symptoms symptom medication medications dosage treatment hospitalised hospitalized hospice psychiatric counselling counseling transplant transfusion relapse remission "
                "disability disabled suffers suffering patient infected vaccinated allergic allergy antidepressants antidepressant insulin radiotherapy mastectomy hysterectomy colonoscopy ultrasound mri"},
    {medicine_word, "metformin lisinopril atorvastatin sertraline fluoxetine prozac zoloft xanax alprazolam lorazepam diazepam valium citalopram escitalopram lithium quetiapine olanzapine "
                    "risperidone methadone buprenorphine suboxone oxycodone hydrocodone fentanyl morphine tramadol warfarin insulin levothyroxine omeprazole amoxicillin prednisone "
                    "methotrexate tamoxifen humira adalimumab truvada ozempic semaglutide adderall ritalin methylphenidate lamotrigine gabapentin pregabalin venlafaxine bupropion viagra sildenafil"},
    {preposition_word, "in at from near to of for on by with and or the a an my your his her our their its as is was are were be been has have had"},
    {currency_word, "dollars dollar euros euro pounds pound yen yuan usd eur gbp jpy cny rmb twd ntd hkd sgd aud cad chf inr krw cents rupees pesos won bucks"},
    {address_label, "address addr street residence resides residing lives live living located location deliver delivery ship shipping billing mailing home mail send sent moved visit"},
    {closing_word, "regards sincerely best cheers yours faithfully respectfully warmly cordially love xoxo thanks"},
    {job_word, "engineer manager director ceo cto cfo coo vp president nurse doctor teacher lawyer attorney accountant developer designer analyst consultant professor driver chef "
               "actor actress singer author writer journalist editor artist musician player coach captain officer secretary assistant architect electrician plumber founder"},
    {verb_of_contact, "call email mail ask tell meet met contact ping message text phone remind invite cc notify inform visit see saw know knows follow hire hired fire fired assign forward"},
    {code_word, "import from def class return function const let var int void public private static include define using namespace struct enum typedef commit merge author date fix bump "
                "revert refactor feat chore docs usr etc var lib bin todo fixme"},
};

}  // namespace

RuleWords::RuleWords() : slots_(n_slots) {
  for (const List& list : lists) add(list.classes, list.words);
}

void RuleWords::add(uint32_t classes, std::string_view words) {
  while (!words.empty()) {
    const size_t space = words.find(' ');
    const uint32_t hash = word_hash(words.substr(0, space));
    size_t at = hash % n_slots;
    while (slots_[at].classes != 0 && slots_[at].hash != hash) at = (at + 1) % n_slots;
    slots_[at].hash = hash;
    slots_[at].classes |= classes;
    words.remove_prefix(space == std::string_view::npos ? words.size() : space + 1);
  }
}

uint32_t RuleWords::classes(uint32_t hash) const {
  for (size_t at = hash % n_slots;; at = (at + 1) % n_slots) {
    if (slots_[at].classes == 0) return 0;
    if (slots_[at].hash == hash) return slots_[at].classes;
  }
}

const RuleWords& rule_words() {
  static const RuleWords words;
  return words;
}
