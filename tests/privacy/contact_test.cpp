// contact_test: mail, telephones, networks, URLs, hosts, handles, plates, positions: found whole, and number soup left alone.
#include <chrono>
#include "privacy/detect_fixture.h"

namespace {

const Family& contact() {
  static const Family family(add_contact_detectors);
  return family;
}
bool finds(const std::string& text, const std::string& value, PrivacyClass cls, std::string_view kind = "") {
  return contact().score(text, value, cls, kind) >= 0.5F;
}
#define EXPECT_FINDS(text, value, cls) EXPECT_TRUE(finds(text, value, PrivacyClass::cls)) << (text)
#define EXPECT_SILENT(text) EXPECT_TRUE(contact().silent(text)) << (text)

TEST(Emails, PlainInternationalAndSpelledOut) {
  EXPECT_FINDS("Please email Jane Roe at jane.roe@example.org about the invoice.", "jane.roe@example.org", email);
  EXPECT_FINDS("mailto:bob+tag@sub.example.co.uk?subject=x", "bob+tag@sub.example.co.uk", email);
  EXPECT_FINDS("用户@例え.jp 和", "用户@例え.jp", email);
  EXPECT_FINDS("信箱jane.roe@example.org。", "jane.roe@example.org", email);
  EXPECT_FINDS("jane [at] example [dot] org", "jane [at] example [dot] org", email);
  EXPECT_FINDS("write jane(at)example(dot)com now", "jane(at)example(dot)com", email);
  EXPECT_FINDS("jane 小老鼠 example.org 謝謝", "jane 小老鼠 example.org", email);
  EXPECT_FINDS("ｊａｎｅ＠ｅｘａｍｐｌｅ．ｏｒｇ", "jane@example.org", email);
  EXPECT_SILENT("git@github.com:owner/repo.git npm i @scope/pkg look at example.org icon@2x.png");
  EXPECT_SILENT("watch_->allocations_at_step.size() a @ b user@localhost");
}

TEST(Phones, OfManyRegions) {
  for (const std::string number :
       {"+1 415-555-0123",   "(415) 555-2671",    "415-555-2671",      "+886912345678",    "0912-345-678",     "(02) 2345-6789",   "13812345678",
        "010-62345678",      "+852 9123 4567",    "+65 9123 4567",     "+44 20 7946 0018", "020 7946 0018",    "07911 123456",     "+49 30 123456",
        "0171 1234567",      "+33 1 23 45 67 89", "06 12 34 56 78",    "090-1234-5678",    "03-1234-5678",     "010-1234-5678",    "+91 98765 43210",
        "+55 11 91234-5678", "(11) 91234-5678",   "0412 345 678",      "+7 495 123-45-67", "+34 612 34 56 78", "+39 06 698 12345", "+31 6 12345678",
        "+46 70 123 45 67",  "+48 512 345 678",   "+90 532 123 45 67", "+62 812-3456-7890",
        "+44 (0)20 7946 0018", "+41 (0)44 668 18 00", "(415)555-2671", "(079)722-6401"}) {
    EXPECT_FINDS("Jane, " + number + " is hers", number, phone);
  }
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::string>>{{"電話 2345 6789", "2345 6789"},
                                                                                    {"call 91234567 today", "91234567"},
                                                                                    {"mobile 9876543210", "9876543210"},
                                                                                    {"Tel: 02 2345 6789 #12", "02 2345 6789 #12"},
                                                                                    {"電話 (02) 2345-6789 分機 12", "(02) 2345-6789 分機 12"},
                                                                                    {"電話0912345678", "0912345678"},
                                                                                    {"tel 555-0199", "555-0199"},
                                                                                    {"Телефон: 8 (912) 345-67-89", "8 (912) 345-67-89"},
                                                                                    {"phone 415-555-2671 ext. 12", "415-555-2671 ext. 12"},
                                                                                    {"手機０９１２－３４５－６７８", "0912-345-678"}}) {
    EXPECT_FINDS(text, value, phone);
  }
}

TEST(Phones, NumberSoupIsNone) {  // F2
  for (const std::string text :
       {"2023-01-02 12:30:45.123 pid 4155552", "01-02-2023 and 10.12.2024", "550e8400-e29b-41d4-a716-446655440000", "order 4155552671 shipped",
        "epoch 1756892345123 1756892345", "price 1,234,567.89 and 12 345 678", "ISBN 978-3-16-148410-0", "v10.0.19045.3693",
        "rows 1234567 12345678 123456", "Boston, MA 02110-1301, USA", "訂單 13812345678", "0.0648193359375", "4000 0076 5432 1097",
        "Science 296.5569 (2002) 910-913", "1e10 0x12345678 a1234567890", "12345678901234567890"}) {
    for (const Found& found : contact().find(text)) EXPECT_NE(found.cls, PrivacyClass::phone) << text << ": " << found.value;
  }
}

TEST(Networks, AddressesRangesAndVersions) {
  EXPECT_FINDS("server 203.0.113.77 down", "203.0.113.77", ip);
  EXPECT_FINDS("allow 192.168.1.0/24", "192.168.1.0/24", ip);
  EXPECT_FINDS("at 2001:db8::1 and", "2001:db8::1", ip);
  EXPECT_FINDS("via fe80::1%eth0 now", "fe80::1%eth0", ip);
  EXPECT_FINDS("::ffff:203.0.113.7 mapped", "::ffff:203.0.113.7", ip);
  for (const auto& [text, internal] : std::vector<std::pair<std::string, bool>>{{"10.0.0.5:80", true},
                                                                                {"127.0.0.1", true},
                                                                                {"172.20.1.1", true},
                                                                                {"172.32.1.1", false},
                                                                                {"203.0.113.7", false},
                                                                                {"fc00::1:2", true},
                                                                                {"2001:db8::7", false},
                                                                                {"[::1]:80", true}}) {
    const auto found = contact().find(text);
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_EQ(found[0].internal, internal) << text;
  }
  EXPECT_SILENT("1.2.3.4 in v1.2.3.4, Chrome/120.0.0.0, version 10.0.19045.1, 256.1.1.1, 1.2.3.4.5, 01.02.03.04");
  EXPECT_SILENT("std::vector<a::b> 12:30:45 x[1::2] a::b");
  for (const std::string mac : {"00:1A:2b:3c:4d:5e", "00-1A-2B-3C-4D-5E", "001a.2b3c.4d5e"}) EXPECT_FINDS("mac " + mac + " seen", mac, mac);
  EXPECT_SILENT("10-20-30-40-50-60 00:00:00:00:00:00 00:1A:2b:3c:4d:5e:6f");
}

TEST(Urls, SecretsOfQueriesAndInternalHosts) {
  EXPECT_FINDS("https://files.example.org/x?token=8f7d6a5b4c3d2e1fAb&x=1", "8f7d6a5b4c3d2e1fAb", secret);
  EXPECT_FINDS("https://b.s3.example.org/a?X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0&v=2", "fe5f80f77d5fa3beca038a248ff027d0", secret);
  EXPECT_FINDS("see https://example.org/a(b)?q=1.", "https://example.org/a(b)?q=1", url);
  EXPECT_FINDS("http://wiki.corp/page", "wiki.corp", host);
  EXPECT_FINDS("the host db.internal is down", "db.internal", host);
  EXPECT_FINDS("http://jenkins:8080/job", "jenkins", host);
  EXPECT_SILENT("/list?page=2&key=name&token=<token>&code=404");
  EXPECT_SILENT("self.local = threading.local(); finding.internal = true; http://localhost/x");
}

TEST(People, HandlesPlatesPositions) {
  EXPECT_FINDS("follow me on twitter @jane_roe", "@jane_roe", handle);
  EXPECT_FINDS("https://instagram.com/jane.roe", "jane.roe", handle);
  EXPECT_FINDS("LINE ID: jroe88", "jroe88", handle);
  EXPECT_FINDS("微信：jane_88", "jane_88", handle);
  EXPECT_SILENT("@Override\npublic @interface X; @param x; see https://github.com/owner/repository");
  EXPECT_FINDS("車牌 ABC-1234", "ABC-1234", gov_id);
  EXPECT_FINDS("京A·12345 停在", "京A·12345", gov_id);
  EXPECT_SILENT("model ABC-1234 of the part list");
  EXPECT_FINDS("at 25.033964, 121.564468 now", "25.033964, 121.564468", place);
  EXPECT_FINDS("lat: -33.8688, lon: 151.2093", "-33.8688, lon: 151.2093", place);
  EXPECT_SILENT("loss 0.1234, 0.5678 and 1.5, 2.5");
}

TEST(ContactHostile, TakesLinearTime) {
  for (const std::string piece : {"a@", "://", ".", "1", "12 ", "a:", "+1", "?token=", "a [at] b [dot] ", "0912-345-678 ", "12.3456, ", "a.local ", "1.2.3."}) {
    std::string text;
    while (text.size() < (256u << 10)) text += piece;
    const auto start = std::chrono::steady_clock::now();
    contact().find(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3)) << piece;
  }
}

}  // namespace
