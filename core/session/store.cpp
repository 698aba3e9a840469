// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>

#include <array>
#include <sqlite3.h>

namespace lathe::session {
namespace {

constexpr int kBusyTimeoutMs = 10000;

/// Entry n brings a file of version n to n + 1. Never change one that was released: add the next.
constexpr std::array<const char*, Store::kSchemaVersion> kMigrations = {
    R"sql(
CREATE TABLE tasks (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, location TEXT NOT NULL UNIQUE, title TEXT NOT NULL, suite TEXT NOT NULL,
    hash TEXT NOT NULL, snapshot TEXT NOT NULL, pinned TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL);
CREATE TABLE candidates (
    id TEXT PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks(id), parent TEXT NOT NULL, number INTEGER NOT NULL,
    author TEXT NOT NULL, label TEXT NOT NULL, created_at TEXT NOT NULL, content_hash TEXT NOT NULL,
    format TEXT NOT NULL, flags TEXT NOT NULL, files TEXT NOT NULL, run TEXT NOT NULL, UNIQUE (task, number));
CREATE TABLE evaluations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, candidate TEXT NOT NULL, task TEXT NOT NULL REFERENCES tasks(id),
    task_hash TEXT NOT NULL, tier TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, finished_at TEXT NOT NULL,
    document TEXT NOT NULL, samples TEXT NOT NULL, measured INTEGER NOT NULL, best_ratio REAL, summary TEXT NOT NULL);
CREATE INDEX evaluations_of_candidate ON evaluations (candidate, seq);
CREATE TABLE accepts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, candidate TEXT NOT NULL REFERENCES candidates(id), kind TEXT NOT NULL,
    accept TEXT NOT NULL, record TEXT NOT NULL, public_key TEXT NOT NULL, signature TEXT NOT NULL);
CREATE INDEX accepts_of_candidate ON accepts (candidate, seq);
CREATE TABLE blobs (hash TEXT PRIMARY KEY, bytes INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks(id), provider TEXT NOT NULL, replay INTEGER NOT NULL,
    started_at TEXT NOT NULL, stop_reason TEXT NOT NULL, steps INTEGER NOT NULL, owner TEXT NOT NULL);
CREATE TABLE drafts (task TEXT PRIMARY KEY, parent TEXT NOT NULL, files TEXT NOT NULL, saved_at TEXT NOT NULL);
)sql"};

} // namespace

Store::Store(std::filesystem::path folder, std::unique_ptr<SQLite::Database> database)
    : m_folder(std::move(folder))
    , m_database(std::move(database))
    , m_blobs(m_folder / "blobs")
{}

Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& workspace)
{
    if (auto made = makeFolders(workspace); !made) {
        return tl::unexpected(made.error());
    }
    const auto file = workspace / "lathe.sqlite";
    try {
        auto database = std::make_unique<SQLite::Database>(
            file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
        auto store = std::unique_ptr<Store>(new Store(workspace, std::move(database)));
        if (auto done = store->migrate(); !done) {
            return tl::unexpected(done.error());
        }
        if (auto done = store->endDeadRuns(); !done) {
            return tl::unexpected(done.error());
        }
        return store;
    } catch (const SQLite::Exception& exception) {
        return fail(ErrorCode::Io,
                    "cannot open the workspace " + workspace.string() + ": " + exception.what());
    }
}

Result<void> Store::migrate()
{
    return guarded([&]() -> Result<void> {
        m_database->exec("PRAGMA journal_mode=WAL");
        m_database->exec("PRAGMA synchronous=FULL");
        m_database->exec("PRAGMA foreign_keys=ON");
        const auto version = [&] { return m_database->execAndGet("PRAGMA user_version").getInt(); };
        if (version() == kSchemaVersion) {
            return {};
        }
        SQLite::Transaction transaction(*m_database, SQLite::TransactionBehavior::IMMEDIATE);
        const int found = version(); // again, now that nobody else can migrate
        if (found > kSchemaVersion) {
            return fail(ErrorCode::Unsupported,
                        "the workspace " + m_folder.string()
                            + " was written by a newer Lathe (format " + std::to_string(found)
                            + ", this one reads " + std::to_string(kSchemaVersion)
                            + "); update this program");
        }
        for (int step = found; step < kSchemaVersion; ++step) {
            m_database->exec(kMigrations[static_cast<std::size_t>(step)]);
        }
        m_database->exec("PRAGMA user_version=" + std::to_string(kSchemaVersion));
        transaction.commit();
        return {};
    });
}

Error Store::explain(int code, const std::string& text) const
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return {ErrorCode::Io,
                "the disk of " + m_folder.string() + " is full; free space and try again",
                text};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {ErrorCode::Io,
                "another program holds the workspace " + m_folder.string()
                    + "; close it or try again",
                text};
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return {ErrorCode::Io,
                "the workspace " + m_folder.string() + " cannot be written; check its permissions",
                text};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return {ErrorCode::Parse,
                (m_folder / "lathe.sqlite").string() + " is damaged; restore it from a copy",
                text};
    default:
        return {ErrorCode::Io, "the workspace's database failed: " + text, {}};
    }
}

Result<std::string> Store::putBlob(std::string_view bytes)
{
    auto hash = m_blobs.put(bytes);
    if (hash) {
        m_newBlobs[*hash] = bytes.size();
    }
    return hash;
}

/// Inside the transaction that names them.
void Store::indexBlobs()
{
    for (const auto& [hash, bytes] : m_newBlobs) {
        SQLite::Statement insert(*m_database, "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)");
        insert.bind(1, hash);
        insert.bind(2, static_cast<std::int64_t>(bytes));
        insert.bind(3, utcNow());
        insert.exec();
    }
}

std::int64_t Store::dataVersion()
{
    try {
        return m_database->execAndGet("PRAGMA data_version").getInt64();
    } catch (const SQLite::Exception&) {
        return 0;
    }
}

} // namespace lathe::session
