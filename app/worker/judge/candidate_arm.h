// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "moving_inputs.h"
#include "reference_variant.h"

#include <lathe/protocol/types.h>
#include <lathe/worker/sandbox.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::worker {

/// Why an evaluation ends here: the verdict and one sentence.
struct Stop
{
    protocol::Verdict verdict = protocol::Verdict::Wrong;
    std::string reason;
    std::string detail;         ///< traceback, last output
    bool declined = false;      ///< the candidate says that it does not support this shape
    std::optional<Error> error; ///< set: no verdict at all (cancelled, the machine's fault)
};

template <class T>
using Judged = tl::expected<T, Stop>;

/// The verdict of a failed call. `doing` completes "while ...", e.g. "loading the candidate".
Stop stopFor(const Error& error,
             ArmProcess* process,
             const std::string& doing,
             double timeoutSeconds);
/// There was no memory for what an extra check needs: the check is given up, nobody is accused.
bool outOfMemory(const Stop& stop);
/// The verdict of a Failed reply, by its stage.
Stop stopForFailed(const protocol::ArmReader& reply);

/// One candidate in its own sandbox. The sandbox is started before the candidate is known, and used
/// once.
class CandidateArm
{
public:
    /// Starts an empty, waiting sandbox; returns at once.
    static Result<std::unique_ptr<CandidateArm>>
    start(const Sandbox& sandbox, const ArmSettings& arm, const std::filesystem::path& folder);
    ~CandidateArm();
    CandidateArm(const CandidateArm&) = delete;
    CandidateArm& operator=(const CandidateArm&) = delete;

    /// Copies what the build made into the sandbox's folder.
    Result<void> populate(const std::filesystem::path& built, const protocol::CandidateSpec& spec);
    [[nodiscard]] ArmHost& host() { return *m_host; }
    [[nodiscard]] const std::string& key() const { return m_key; }
    static std::string keyOf(const protocol::CandidateSpec& spec);
    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }
    [[nodiscard]] const std::string& format() const { return m_format; }

    /// A process with the candidate loaded for one variant and all input sets bound.
    struct Loaded
    {
        std::unique_ptr<ArmProcess> process;
        std::map<std::int64_t, std::uint64_t> bound;
        /// Digests of outputs that were compared and found right, by the seed of their input set.
        std::map<std::uint64_t, std::vector<std::string>> rightOutputs;
        /// Inputs whose contents can be exchanged under the process's hands; null where the task's
        /// sets differ in more than that, or their layout makes copies of them.
        std::unique_ptr<MovingInputs> moving;
        /// Those that are timed in the full and accept tiers, with the contents of sets 0 and 1.
        std::vector<std::unique_ptr<MovingInputs>> timed;
        /// Those of a chain of calls.
        std::vector<std::unique_ptr<MovingInputs>> chain;
        Buffers outputs;
        Judged<void> bind(const ReferenceVariant& variant, int cancelFd, Ledger& ledger);
        /// Where this process copies its outputs, and no other process ever does: whoever keeps a
        /// descriptor of them reaches nothing but its own. Made at first use.
        Result<Buffers*> outputBuffers(const ReferenceVariant& variant);
        /// Makes and binds `moving` at first use.
        Judged<MovingInputs*>
        movingInputs(const ReferenceVariant& variant, int cancelFd, Ledger& ledger);
        /// Makes and binds `timed`; leaves it empty where the memory does not suffice and where the
        /// inputs cannot be exchanged in place.
        Judged<void> timedInputs(const ReferenceVariant& variant, int cancelFd, Ledger& ledger);
        /// Makes and binds `count` of `chain`.
        Judged<void> chainInputs(const ReferenceVariant& variant,
                                 std::size_t count,
                                 int cancelFd,
                                 Ledger& ledger);
        /// Lets go of `chain`, in the process as well.
        void endChain(int cancelFd, Ledger& ledger);

    private:
        Judged<std::unique_ptr<MovingInputs>> bindMoving(const ReferenceVariant& variant,
                                                         const InputSet& like,
                                                         std::int64_t id,
                                                         int cancelFd,
                                                         Ledger& ledger);
    };
    Judged<std::unique_ptr<Loaded>> load(const ReferenceVariant& variant,
                                         const std::string& phase,
                                         int cancelFd,
                                         Ledger& ledger,
                                         std::int64_t flags = 0);
    /// The process of that variant that was kept, loaded when there is none.
    Judged<Loaded*> main(const ReferenceVariant& variant, int cancelFd, Ledger& ledger);
    /// What is open between the kept processes and this one, a sentence each; see ArmProcess.
    [[nodiscard]] std::vector<std::string> openings() const;
    void drop(const ReferenceVariant& variant) { m_main.erase(&variant); }
    void forgetAll() { m_main.clear(); }

private:
    CandidateArm() = default;
    std::filesystem::path m_folder;
    std::string m_key;
    std::string m_format;
    std::unique_ptr<ArmHost> m_host;
    std::map<const ReferenceVariant*, std::unique_ptr<Loaded>> m_main;
};

} // namespace lathe::worker
