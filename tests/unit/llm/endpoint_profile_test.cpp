// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/llm/providers.h>
#include <lathe/llm/recording.h>

#include <gtest/gtest.h>

#include <cstdlib>

namespace lathe::llm {
namespace {

TEST(EndpointProfile, ReadsAListAndKeepsKeysOut)
{
    const auto profiles =
        parseProfiles(R"([{"name":"local","baseUrl":"http://127.0.0.1:8080/v1/","model":"q"},
        {"name":"cloud","baseUrl":"https://api.example.org/v1","model":"x","keyEnv":"LATHE_TEST_KEY","price":{"prompt":2,"completion":8},"maxTokensField":"max_tokens"}])");
    ASSERT_TRUE(profiles) << profiles.error().message;
    EXPECT_EQ((*profiles)[0].baseUrl, "http://127.0.0.1:8080/v1");
    EXPECT_EQ(*keyOf((*profiles)[0]), "");
    ::unsetenv("LATHE_TEST_KEY");
    ASSERT_FALSE(keyOf((*profiles)[1]));
    EXPECT_NE(keyOf((*profiles)[1]).error().message.find("LATHE_TEST_KEY"), std::string::npos);
    ::setenv("LATHE_TEST_KEY", "abc", 1);
    EXPECT_EQ(*keyOf((*profiles)[1]), "abc");
    ::unsetenv("LATHE_TEST_KEY");
    Usage usage;
    usage.promptTokens = 1000;
    usage.completionTokens = 500;
    EXPECT_FALSE(costOf((*profiles)[0], usage));
    EXPECT_DOUBLE_EQ(*costOf((*profiles)[1], usage), 0.006); // 1000 * 2e-6 + 500 * 8e-6
}

TEST(EndpointProfile, RefusesWhatIsUnsafeOrUnknown)
{
    EXPECT_FALSE(parseProfiles(R"([{"name":"a","baseUrl":"https://x/v1","key":"sk-1"}])"));
    EXPECT_FALSE(parseProfiles(R"([{"name":"a","baseUrl":"https://u:p@x/v1"}])"));
    EXPECT_FALSE(parseProfiles(R"([{"name":"a","baseUrl":"file:///etc/passwd"}])"));
    EXPECT_FALSE(parseProfiles(R"([{"name":"replay:x","baseUrl":"https://x"}])"));
    EXPECT_FALSE(parseProfiles(R"([{"name":"a","baseUrl":"https://x","dialect":"other"}])"));
    EXPECT_FALSE(parseProfiles("{"));
}

TEST(Providers, ListsProfilesAndRecordingsWithReasons)
{
    const auto folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-providers-");
    ::unsetenv("LATHE_TEST_KEY");
    ASSERT_TRUE(
        writeFileAtomic(folder / "endpoints.json",
                        R"([{"name":"c","baseUrl":"https://x/v1","keyEnv":"LATHE_TEST_KEY"}])"));
    ASSERT_TRUE(writeFileAtomic(folder / "bad.replay.jsonl", "nonsense\n"));
    RecordingWriter::create(
        folder / "good.replay.jsonl", {"Demo", "", "", "", "scripted", "", ""}, "")
        .value();
    const auto rows = listProviders(folder / "endpoints.json", {folder});
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].name, "c");
    EXPECT_FALSE(rows[0].usable);
    EXPECT_NE(rows[0].why.find("LATHE_TEST_KEY"), std::string::npos);
    EXPECT_FALSE(rows[1].usable);
    EXPECT_TRUE(rows[2].usable);
    EXPECT_EQ(rows[2].name, "replay:" + (folder / "good.replay.jsonl").string());
    EXPECT_NE(rows[2].title.find("scripted"), std::string::npos);
    EXPECT_TRUE(listProviders(folder / "absent.json", {folder / "absent"}).empty());
    std::filesystem::remove_all(folder);
}

TEST(EndpointProfile, AKeyDoesNotTravelUnencrypted)
{
    const auto read = [](const std::string& url, const std::string& more = "") {
        return parseProfiles(R"([{"name":"n","keyEnv":"K","baseUrl":")" + url + "\"" + more + "}]");
    };
    EXPECT_TRUE(read("https://api.example.org/v1"));
    EXPECT_TRUE(read("http://127.0.0.1:8000/v1"));
    EXPECT_TRUE(read("http://127.255.3.4"));
    EXPECT_TRUE(read("http://[::1]:8000/v1"));
    EXPECT_TRUE(read("http://localhost/v1"));
    const auto refused = read("http://10.0.0.5:8000/v1");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("plainHttp"), std::string::npos);
    EXPECT_FALSE(read("http://127.example.org/v1"));
    EXPECT_FALSE(read("http://localhost.example.org/v1"));
    EXPECT_TRUE(read("http://10.0.0.5:8000/v1", R"(,"plainHttp":true)"));
    EXPECT_TRUE(parseProfiles(R"([{"name":"n","baseUrl":"http://10.0.0.5/v1"}])"));
}

} // namespace
} // namespace lathe::llm
