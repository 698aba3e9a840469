// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "reference_failure.h"

namespace lathe::worker {

Error referenceFailure(const Error& error, const std::string& variant, ArmProcess* arm)
{
    switch (error.code) {
    case ErrorCode::Unsupported:
    case ErrorCode::NotFound:
    case ErrorCode::Io:
    case ErrorCode::Internal:
        return error; // the machine's fault, not the task's
    default:
        break;
    }
    const std::string where = "the task cannot be judged (variant " + variant + "): ";
    std::string detail = error.detail;
    std::string message = error.message;
    if (error.code == ErrorCode::Protocol && arm != nullptr) {
        const ArmExit exit = arm->exitState();
        if (exit.exited) {
            // "what: the arm is gone" becomes "what: its process was killed by ..."
            message = message.substr(0, message.find(':'))
                      + (exit.signal != 0 ? ": its process was " : ": its process ")
                      + exit.describe();
        }
    }
    if (arm != nullptr) {
        const std::string output = arm->takeOutput();
        if (!output.empty()) {
            detail += (detail.empty() ? "" : "\n") + output;
        }
    }
    return {ErrorCode::Refused, where + message, detail};
}

} // namespace lathe::worker
