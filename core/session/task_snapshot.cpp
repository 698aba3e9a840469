// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "task_snapshot.h"

#include <lathe/base/json.h>
#include <lathe/protocol/types_json.h>

#include <nlohmann/json.hpp>

namespace lathe::session {

std::string taskToSnapshot(const task::Task& task)
{
    nlohmann::json json;
    json["spec"] = protocol::toJson(task.spec);
    json["source"] = task.spec.source;
    json["title"] = task.title;
    json["suite"] = task.suite;
    json["notes"] = task.notes;
    json["hash"] = task.hash;
    json["folder"] = task.folder.string();
    json["referenceFile"] = task.referenceFile.string();
    json["solutions"] = nlohmann::json::array();
    for (const auto& solution : task.solutions) {
        json["solutions"].push_back(solution.string());
    }
    return dumpJson(json);
}

Result<task::Task> taskFromSnapshot(const std::string& text)
{
    const auto json = parseJson(text);
    if (!json || !json->is_object() || !json->contains("spec")) {
        return fail(ErrorCode::Parse, "the workspace's copy of the task is not readable");
    }
    auto spec = protocol::taskSpecFromJson((*json)["spec"]);
    if (!spec) {
        return tl::unexpected(spec.error());
    }
    task::Task task;
    task.spec = std::move(*spec);
    task.spec.source = stringOr(*json, "source");
    task.title = stringOr(*json, "title");
    task.suite = stringOr(*json, "suite");
    task.notes = stringOr(*json, "notes");
    task.hash = stringOr(*json, "hash");
    task.folder = stringOr(*json, "folder");
    task.referenceFile = stringOr(*json, "referenceFile");
    if (const auto it = json->find("solutions"); it != json->end() && it->is_array()) {
        for (const auto& solution : *it) {
            if (solution.is_string()) {
                task.solutions.emplace_back(solution.get<std::string>());
            }
        }
    }
    return task;
}

} // namespace lathe::session
