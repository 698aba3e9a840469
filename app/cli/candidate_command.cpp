// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "host.h"
#include "terminal.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

namespace lathe::cli {

int runExport(const CandidateOptions& options)
{
    Loop loop;
    auto host = Host::open(loop, options, false);
    if (!host)
        return reportError(host.error(), Phase::Input, options.json);
    auto row = (*host)->findCandidate(options.candidate);
    if (!row)
        return reportError(row.error(), Phase::Input, options.json);
    auto files = await<std::vector<std::filesystem::path>>(
        loop, [&](session::Callback<std::vector<std::filesystem::path>> done) {
            (*host)->session().exportCandidate(row->id, options.as, options.out, std::move(done));
        });
    if (!files)
        return reportError(files.error(), Phase::Input, options.json);
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.export/1"},
                                           {"candidate", row->id.text()},
                                           {"as", options.as},
                                           {"files", nlohmann::ordered_json::array()}};
        for (const auto& file : *files)
            document["files"].push_back(file.string());
        Terminal::line(dumpJson(document, 2));
    } else {
        for (const auto& file : *files)
            Terminal::line("wrote " + file.string());
    }
    return kCorrect;
}

int runAccept(const CandidateOptions& options)
{
    Loop loop;
    auto host = Host::open(loop, options, false);
    if (!host)
        return reportError(host.error(), Phase::Input, options.json);
    auto row = (*host)->findCandidate(options.candidate);
    if (!row)
        return reportError(row.error(), Phase::Input, options.json);
    std::string provisional;
    nlohmann::ordered_json document = {{"schema", "lathe.accept/1"},
                                       {"candidate", row->id.text()},
                                       {"withdrawn", options.withdraw}};
    if (options.withdraw) {
        auto done = await<void>(loop, [&](session::Callback<void> callback) {
            (*host)->session().withdrawAccept(row->id, options.note, std::move(callback));
        });
        if (!done)
            return reportError(done.error(), Phase::Candidate, options.json);
    } else {
        auto record = await<session::AcceptRecord>(
            loop, [&](session::Callback<session::AcceptRecord> callback) {
                (*host)->session().accept(row->id, options.note, std::move(callback));
            });
        if (!record) // refused with the reason: the candidate is not what accepting needs
            return reportError(record.error(), Phase::Candidate, options.json);
        provisional = record->because;
        document["record"] = {{"id", record->id},
                              {"evaluation", record->evaluation.text()},
                              {"who", record->who},
                              {"when", record->when},
                              {"note", record->note},
                              {"provisional", record->provisional},
                              {"because", record->because},
                              {"publicKey", record->publicKey},
                              {"signature", record->signature}};
    }
    if (options.json) {
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    if (!provisional.empty())
        Terminal::line("provisional, " + provisional + " (\"lathe eval TASK " + options.candidate
                       + " --tier accept\") and accept it again to make it final");
    Terminal::line(options.withdraw ? "acceptance withdrawn"
                                    : "accepted and signed; \"lathe accept " + options.candidate
                                          + " --withdraw\" takes it back");
    return kCorrect;
}

} // namespace lathe::cli
