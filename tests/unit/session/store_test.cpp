// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_fixture.h"
#include "store_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fstream>
#include <sys/statvfs.h>
#include <unistd.h>

namespace lathe::session {
namespace {

using protocol::Tier;
using protocol::Verdict;

using StoreTest = StoreFixture;

TEST_F(StoreTest, TasksKeepTheirIdentityAndTheirCopy)
{
    task::Task changed = task();
    changed.spec.source = "class Model: x = 1\n";
    changed.hash = "hash-2";
    EXPECT_EQ(*m_store->putTask(changed), m_task);
    const auto place = m_store->taskPlace("suite/scale");
    ASSERT_TRUE(place);
    EXPECT_EQ(place->hash, "hash-2");
    const auto copy = m_store->taskSnapshot(*place);
    ASSERT_TRUE(copy) << copy.error().message;
    EXPECT_EQ(copy->spec.source, changed.spec.source);
    EXPECT_EQ(copy->spec.variants.at(0).constants.at(0).literal, "4");
    EXPECT_EQ(m_store->taskPlace("other").error().code, ErrorCode::NotFound);
}

TEST_F(StoreTest, CandidatesAreNumberedAndComeBackWhole)
{
    const auto first = add("one");
    const auto second = add("two");
    EXPECT_EQ(first.number, 1);
    EXPECT_EQ(second.number, 2);
    m_store = *Store::open(m_folder / "ws");
    const auto source = m_store->source(second.id);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(source->files.at(0).text, "two");
    EXPECT_EQ(source->flags, std::vector<std::string>{"-DX=1"});
    ASSERT_TRUE(m_store->label(first.id, "renamed"));
    ASSERT_TRUE(m_store->pin(m_task, first.id));
    const auto rows = m_store->candidates(m_task);
    ASSERT_EQ(rows->size(), 2u);
    EXPECT_EQ((*rows)[0].label, "renamed");
    EXPECT_TRUE((*rows)[0].pinned);
    EXPECT_FALSE((*rows)[1].pinned);
    EXPECT_FALSE(m_store->pin(m_task, CandidateId("nobody")));
}

TEST_F(StoreTest, RefusesPathsOutsideTheFolder)
{
    auto bad = draft(m_task, "x");
    bad.spec.files[0].path = "../x";
    EXPECT_FALSE(m_store->addCandidate(bad, {}));
    bad.spec.files.clear();
    EXPECT_FALSE(m_store->addCandidate(bad, {}));
}

TEST_F(StoreTest, EvaluationsComeBackWithTracesLogAndSamples)
{
    const auto row = add("one");
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(row.id, Tier::Full, Verdict::Correct), m_task, "hash-1"));
    const auto kept = m_store->evaluations(row.id);
    ASSERT_EQ(kept->size(), 1u);
    const auto loaded = m_store->loadEvaluation(kept->front());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->log, "compiler output\n");
    EXPECT_EQ(loaded->traces.at(0).chromeJson, R"({"traceEvents":[]})");
    EXPECT_EQ(loaded->timings.at(0).samplesUs, (std::vector<double>{4.5, 5, 5.5}));
    const auto shown = m_store->candidate(row.id);
    EXPECT_EQ(shown->verdict, Verdict::Correct);
    EXPECT_EQ(shown->best->ratio, 2);
}

TEST_F(StoreTest, ACheckWithoutMeasurementHidesNoTimings)
{
    const auto row = add("one");
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(row.id, Tier::Full, Verdict::Correct, 3), m_task, "h"));
    auto verified = evaluated(row.id, Tier::Full, Verdict::Correct);
    verified.timings.clear();
    verified.comparisons.clear();
    ASSERT_TRUE(m_store->addEvaluation(verified, m_task, "h"));
    EXPECT_DOUBLE_EQ(m_store->candidate(row.id)->best->ratio, 3);
    EXPECT_EQ(m_store->candidate(row.id)->evaluation, m_store->shownEvaluation(row.id)->value().id);
    EXPECT_EQ(m_store->bestCandidate(m_task)->value(), row.id);

    // Another task's text: what was measured of the old one says nothing any more.
    verified.id = EvaluationId::fresh();
    ASSERT_TRUE(m_store->addEvaluation(verified, m_task, "other"));
    EXPECT_EQ(m_store->candidate(row.id)->evaluation, verified.id);
    EXPECT_FALSE(m_store->candidate(row.id)->best);
}

TEST_F(StoreTest, SomethingWrongFoundLaterIsShown)
{
    const auto row = add("one");
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(row.id, Tier::Full, Verdict::Correct, 3), m_task, "h"));
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(row.id, Tier::Quick, Verdict::Wrong), m_task, "h"));
    EXPECT_EQ(m_store->candidate(row.id)->verdict, Verdict::Wrong);
    auto verified = evaluated(row.id, Tier::Quick, Verdict::Correct);
    verified.timings.clear();
    verified.comparisons.clear();
    ASSERT_TRUE(m_store->addEvaluation(verified, m_task, "h"));
    EXPECT_EQ(m_store->candidate(row.id)->evaluation, verified.id);
    EXPECT_FALSE(m_store->shownEvaluation(add("two").id)->has_value());
}

TEST_F(StoreTest, TheBestOfATaskIsCorrectAndNotOnlyQuick)
{
    const auto slow = add("slow");
    const auto quick = add("quick");
    const auto broken = add("broken");
    EXPECT_EQ(m_store->tasks()->at(0).status, "not run");
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(broken.id, Tier::Full, Verdict::Correct, 9), m_task, "h"));
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(broken.id, Tier::Quick, Verdict::Wrong), m_task, "h"));
    EXPECT_EQ(m_store->tasks()->at(0).status, "wrong");
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(slow.id, Tier::Full, Verdict::Correct, 1.5), m_task, "h"));
    ASSERT_TRUE(
        m_store->addEvaluation(evaluated(quick.id, Tier::Quick, Verdict::Correct, 3), m_task, "h"));
    const auto tasks = m_store->tasks();
    EXPECT_EQ(tasks->at(0).status, "correct");
    ASSERT_TRUE(tasks->at(0).best);
    EXPECT_EQ(tasks->at(0).best->ratio, 1.5);
    EXPECT_EQ(m_store->bestCandidate(m_task)->value(), quick.id);
}

TEST_F(StoreTest, ReplayedAndUnfinishedOnesAreNotKept)
{
    const auto row = add("one");
    auto result = evaluated(row.id, Tier::Full, Verdict::Correct);
    result.replayed = true;
    EXPECT_FALSE(m_store->addEvaluation(result, m_task, "h"));
    result.replayed = false;
    result.finished = false;
    EXPECT_FALSE(m_store->addEvaluation(result, m_task, "h"));
}

TEST_F(StoreTest, ADamagedBlobIsTold)
{
    const auto row = add("one");
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(m_folder / "ws" / "blobs")) {
        if (entry.is_regular_file()) {
            std::ofstream(entry.path(), std::ios::app) << "!";
        }
    }
    EXPECT_EQ(m_store->source(row.id).error().code, ErrorCode::Parse);
}

TEST_F(StoreTest, ANewerFileIsRefused)
{
    m_store.reset();
    {
        SQLite::Database database((m_folder / "ws/lathe.sqlite").string(), SQLite::OPEN_READWRITE);
        database.exec("PRAGMA user_version=99");
    }
    const auto opened = Store::open(m_folder / "ws");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
    EXPECT_NE(opened.error().message.find("newer"), std::string::npos);
}

TEST_F(StoreTest, NoDatabaseIsTold)
{
    std::filesystem::create_directories(m_folder / "junk");
    std::ofstream(m_folder / "junk/lathe.sqlite") << std::string(4096, 'x');
    const auto opened = Store::open(m_folder / "junk");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::Parse);
}

TEST_F(StoreTest, TwoConnectionsWorkOnOneWorkspace)
{
    auto other = *Store::open(m_folder / "ws");
    const auto before = m_store->dataVersion();
    const auto theirs = other->addCandidate(draft(m_task, "theirs"), {});
    ASSERT_TRUE(theirs);
    EXPECT_NE(m_store->dataVersion(), before);
    EXPECT_EQ(add("ours").number, 2);
    EXPECT_EQ(other->candidates(m_task)->size(), 2u);
}

TEST_F(StoreTest, DraftsAreReplacedAndDiscarded)
{
    ASSERT_TRUE(m_store->saveDraft(m_task, {std::nullopt, {{"a", "1"}}, "t1"}));
    ASSERT_TRUE(m_store->saveDraft(m_task, {CandidateId("p"), {{"a", "2"}}, "t2"}));
    const auto draft = m_store->loadDraft(m_task);
    ASSERT_TRUE(draft && *draft);
    EXPECT_EQ((*draft)->files.at(0).text, "2");
    EXPECT_EQ((*draft)->parent->text(), "p");
    ASSERT_TRUE(m_store->discardDraft(m_task));
    EXPECT_FALSE(*m_store->loadDraft(m_task));
}

TEST_F(StoreTest, ARunWhoseProgramDiedIsInterrupted)
{
    ASSERT_TRUE(m_store->addRun({"run-1", m_task, "p", false, "2026-01-01T00:00:00Z", "", 0}));
    auto other = *Store::open(m_folder / "ws");
    EXPECT_EQ(other->runs(m_task)->at(0).stopReason, ""); // this process lives
    {
        SQLite::Database database((m_folder / "ws/lathe.sqlite").string(), SQLite::OPEN_READWRITE);
        database.exec("UPDATE runs SET owner = '" + std::to_string(::getpid())
                      + ":1'"); // same pid, an earlier life
    }
    other = *Store::open(m_folder / "ws");
    EXPECT_EQ(other->runs(m_task)->at(0).stopReason, "interrupted");
}

TEST(Owner, IsAliveOnlyAsTheSameProcess)
{
    EXPECT_TRUE(ownerIsAlive(ownerOfThisProcess()));
    EXPECT_FALSE(ownerIsAlive("1:0"));
    EXPECT_FALSE(ownerIsAlive(""));
    EXPECT_FALSE(ownerIsAlive("../1:5"));
}

} // namespace
} // namespace lathe::session
