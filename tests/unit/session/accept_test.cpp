// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fstream>
#include <sys/stat.h>

namespace lathe::session {
namespace {

using protocol::Tier;
using protocol::Verdict;

class AcceptTest : public StoreFixture
{
protected:
    SigningKey key() { return *SigningKey::loadOrCreate(m_folder / "config/signing.key"); }
    void keep(const CandidateRow& row, Tier tier, Verdict verdict)
    {
        ASSERT_TRUE(m_store->addEvaluation(evaluated(row.id, tier, verdict), m_task, "hash-1"));
    }
    std::string refusal(const CandidateRow& row)
    {
        const auto record = m_store->accept(row.id, "me", "", key());
        return record ? "accepted" : record.error().message;
    }
    void alter(const std::string& sql)
    {
        SQLite::Database database(
            (m_folder / "ws/lathe.sqlite").string(), SQLite::OPEN_READWRITE, 5000);
        database.exec(sql);
    }
};

// RFC 8032, section 7.1, test 2: the signature of the one byte 0x72.
TEST(Signing, MatchesRfc8032)
{
    const auto folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-key-");
    ASSERT_TRUE(writeFileAtomic(
        folder / "k", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n", 0600));
    const auto key = SigningKey::loadOrCreate(folder / "k");
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->publicKey(), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    EXPECT_EQ(key->sign("r").signature,
              "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
              "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    EXPECT_TRUE(verifySignature("r", key->sign("r")));
    EXPECT_FALSE(verifySignature("s", key->sign("r")));
    EXPECT_FALSE(verifySignature("r", {"", "zz"}));
    std::filesystem::remove_all(folder);
}

TEST_F(AcceptTest, TheKeyIsPrivateAndStays)
{
    const std::string first = key().publicKey();
    struct stat info = {};
    ASSERT_EQ(::stat((m_folder / "config/signing.key").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600u);
    EXPECT_EQ(key().publicKey(), first);
    ::chmod((m_folder / "config/signing.key").c_str(), 0644);
    EXPECT_EQ(SigningKey::loadOrCreate(m_folder / "config/signing.key").error().code,
              ErrorCode::Refused);
}

TEST_F(AcceptTest, OnlyCorrectAndFullyMeasuredOnes)
{
    const auto row = add("one");
    EXPECT_NE(refusal(row).find("no finished evaluation"), std::string::npos);
    keep(row, Tier::Quick, Verdict::Correct);
    EXPECT_NE(refusal(row).find("only checked quickly"), std::string::npos);
    keep(row, Tier::Full, Verdict::Correct);
    keep(row, Tier::Quick, Verdict::Wrong);
    EXPECT_NE(refusal(row).find("is wrong"), std::string::npos);
    keep(row, Tier::Quick, Verdict::Correct);
    EXPECT_EQ(refusal(row), "accepted");
}

TEST_F(AcceptTest, ALaterPartialRunDoesNotTakeACompleteOnesPlace)
{
    const auto row = add("one");
    const auto keepAccept = [&](const std::vector<std::string>& untimed) {
        auto result = evaluated(row.id, Tier::Accept, Verdict::Correct);
        result.done.untimed = untimed;
        EXPECT_TRUE(m_store->addEvaluation(result, m_task, "hash-1"));
        return result.id;
    };
    keep(row, Tier::Full, Verdict::Correct);
    const auto partial = keepAccept({"big"});
    auto record = m_store->accept(row.id, "me", "", key());
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->evaluation, partial) << "the accept tier goes before the full one";
    EXPECT_TRUE(record->provisional);
    EXPECT_NE(record->because.find("not timed: big"), std::string::npos) << record->because;

    const auto complete = keepAccept({});
    keepAccept({"small"});
    record = m_store->accept(row.id, "me", "", key());
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->evaluation, complete);
    EXPECT_FALSE(record->provisional);
    EXPECT_EQ(record->because, "");
}

TEST_F(AcceptTest, RecordsAreVerifiedAndWithdrawable)
{
    const auto row = add("one");
    keep(row, Tier::Accept, Verdict::Correct);
    const auto record = m_store->accept(row.id, "me", "looks right", key());
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_TRUE(record->signatureValid);
    EXPECT_EQ(record->who, "me");
    EXPECT_EQ(record->publicKey, key().publicKey());
    ASSERT_TRUE(m_store->withdraw(row.id, "me", "not any more", key()));
    EXPECT_TRUE(m_store->candidate(row.id)->accepted->withdrawn);
    EXPECT_FALSE(m_store->withdraw(row.id, "me", "", key()));
    ASSERT_TRUE(m_store->accept(row.id, "me", "again", key()));
    const auto history = m_store->accepts(row.id);
    ASSERT_EQ(history->size(), 2u);
    EXPECT_FALSE((*history)[0].withdrawn);
    EXPECT_TRUE((*history)[1].withdrawn);
}

TEST_F(AcceptTest, AlteredRecordsAreNotValid)
{
    const auto row = add("one");
    keep(row, Tier::Full, Verdict::Correct);
    ASSERT_TRUE(m_store->accept(row.id, "me", "n", key()));
    const auto valid = [&] { return m_store->candidate(row.id)->accepted->signatureValid; };
    ASSERT_TRUE(valid());
    alter("UPDATE accepts SET record = replace(record, '\"me\"', '\"you\"')");
    EXPECT_FALSE(valid());
    alter("UPDATE accepts SET record = replace(record, '\"you\"', '\"me\"')");
    EXPECT_TRUE(valid());
    alter("UPDATE evaluations SET document = samples"); // another document in the place of the
                                                        // signed one
    EXPECT_FALSE(valid());
}

} // namespace
} // namespace lathe::session
