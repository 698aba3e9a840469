// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensors.h"

#include <lathe/protocol/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// What all variants of one task share. Outlives them.
struct TaskContext
{
    protocol::TaskSpec task;
    std::string device; ///< "cpu", "cuda:0"
    std::optional<std::uint64_t> replaySeed;
    MemorySpace* memory = nullptr;
    ArmHost* host = nullptr; ///< reference arms: golden, eager
    std::string taskFile;    ///< as the arms see it
};

/// The same task with other weights, on the inputs of set 0.
struct OtherWeights
{
    std::vector<protocol::TensorInfo> infos;
    Buffers weights;
    InputSet expected; ///< only its golden values
};

/// LoadReference for one variant.
protocol::ArmWriter loadReferenceRequest(const TaskContext& context,
                                         const protocol::Variant& variant,
                                         const std::string& compileMode,
                                         std::uint64_t weightSeed,
                                         bool upcast);

/// The reference side of one variant, made before a candidate comes: weights, input sets drawn from
/// secret seeds, their golden float64 outputs, and the eager arm, loaded and bound, whose outputs
/// calibrate the comparison.
class ReferenceVariant
{
public:
    /// Sets 0 and 1 are compared and timed; set 2 stays unseen until the timing is over.
    static constexpr int kSets = 3;
    static constexpr std::int64_t kUnseenSet = 2;
    static constexpr std::int64_t kFreshSet = kSets; ///< id of what drawFresh() makes

    ReferenceVariant(const TaskContext& context, protocol::Variant variant);

    /// Goes on with the preparation; true once ready. Errors of the task itself are Refused and
    /// stay.
    Result<bool> advance(bool wait, int cancelFd, Ledger& ledger);
    [[nodiscard]] bool ready() const { return m_ready && m_script.done(); }
    /// Refused because its process was killed, which may not be the task's doing.
    [[nodiscard]] bool killed() const { return m_killed; }
    [[nodiscard]] std::string what() const { return m_script.what(); }
    /// Draws the sets anew (ids as given): advance() makes them.
    void redraw(const std::vector<std::int64_t>& sets);
    /// A set that no process has ever had, with its golden values: equal to set `like` but for a
    /// few elements where the sets can be exchanged, wholly new elsewhere. Takes the place of the
    /// one before it and is gone with endFresh(). It does not calibrate. Waits for the golden
    /// reference, whose failure (also for want of memory) leaves the variant as it was.
    Result<const InputSet*> drawFresh(std::int64_t like, int cancelFd, Ledger& ledger);
    /// Ends what drawFresh() left running and gives its memory back.
    void endFresh();
    /// A further eager process, loaded and bound to all sets (the A/A twin). Waits.
    Result<std::unique_ptr<ArmProcess>> makeTwin(int cancelFd, Ledger& ledger);
    /// Run of a set, as every arm is asked.
    [[nodiscard]] protocol::ArmWriter runRequest(std::int64_t set, std::int64_t flags = 0) const;
    /// Made at first use; waits. Null when there are no weights or the outputs do not depend on
    /// them.
    Result<const OtherWeights*> otherWeights(int cancelFd, Ledger& ledger);
    /// Binds the sets to a process that runs on them; waits. `bound` remembers which drawing of a
    /// set it has.
    Result<void> bind(ArmProcess& process,
                      std::map<std::int64_t, std::uint64_t>& bound,
                      double timeoutSeconds,
                      int cancelFd,
                      Ledger& ledger) const;

    [[nodiscard]] const protocol::Variant& variant() const { return m_variant; }
    [[nodiscard]] const std::string& name() const { return m_variant.name; }
    [[nodiscard]] const TaskContext& context() const { return m_context; }
    [[nodiscard]] std::uint64_t weightSeed() const { return m_weightSeed; }
    [[nodiscard]] const std::vector<InputSet>& sets() const { return m_sets; }
    [[nodiscard]] const OutputShape& contract() const { return m_contract; }
    [[nodiscard]] std::vector<Calibration>& calibration() { return m_calibration; }
    [[nodiscard]] const std::vector<Calibration>& calibration() const { return m_calibration; }
    /// Limits of one output under the tolerance that the task gives for it.
    [[nodiscard]] Calibration::Limits limits(std::size_t output) const;
    /// Where the eager process copies its outputs; a candidate's never get here.
    [[nodiscard]] Buffers& outputs() { return m_outputs; }
    [[nodiscard]] ArmProcess* eager() { return m_eager.get(); }
    void loseEager(); ///< it died: the next advance() makes a new one
    [[nodiscard]] protocol::ArmWriter loadCandidateRequest(const std::string& folder,
                                                           const std::string& format,
                                                           std::int64_t flags = 0) const;
    [[nodiscard]] std::vector<int> weightDescriptors() const;
    [[nodiscard]] const Buffers& weights() const { return m_weights; }
    [[nodiscard]] const std::vector<protocol::TensorInfo>& weightInfos() const
    {
        return m_weightInfos;
    }
    /// Weights, inputs and outputs: what a call has to move at least.
    [[nodiscard]] std::uint64_t leastBytes() const;
    /// Compares what an arm has copied into `got` with the golden values of a set: the first
    /// `count` outputs.
    Result<std::vector<Deviation>>
    compare(const InputSet& set, Buffers& got, std::size_t count) const;
    /// One output, which lies in `got`, in the way that the task compares it.
    Result<Deviation> compareOne(const InputSet& set, std::size_t output, SharedBuffer& got) const;
    [[nodiscard]] protocol::ArmWriter replaceWeightsRequest(const OtherWeights& other) const;

private:
    /// The golden reference and the script that asks it.
    struct GoldenArm
    {
        CallScript& script;
        std::unique_ptr<ArmProcess>& process;
    };
    void addEagerSteps();
    void addGoldenSteps(const std::vector<std::int64_t>& sets);
    void addGoldenStart(const GoldenArm& golden);
    /// Draws the set and hands it to the golden arm; like: what it is spliced from, or null.
    void addSetSteps(const GoldenArm& golden, InputSet& set, const InputSet* like);
    void addFillSteps(const GoldenArm& golden, InputSet& set);
    static Result<void> splice(InputSet& set, const InputSet& base);
    Result<void> makeOtherWeights(OtherWeights& other, int cancelFd, Ledger& ledger);
    void addEagerSetSteps(std::int64_t id);
    void addFork(CallScript& script,
                 const char* what,
                 const char* phase,
                 std::unique_ptr<ArmProcess>& target);
    Result<void> takeEagerOutputs(std::int64_t id);
    /// Golden values of outputs narrower than float32 are kept in float32: their rounding is 2^16
    /// times finer than the output's, and every comparison reads half as much.
    Result<void> narrowGolden(InputSet& set);
    /// Scales and narrowing of a set whose golden values have just come.
    Result<void> finishGolden(InputSet& set);
    static Result<void> measureScales(InputSet& set);

    const TaskContext& m_context;
    protocol::Variant m_variant;
    std::uint64_t m_weightSeed = 0;
    CallScript m_script;
    bool m_ready = false;
    std::optional<Error> m_refusal;
    bool m_killed = false;
    std::unique_ptr<ArmProcess> m_eager;
    std::unique_ptr<ArmProcess> m_golden;
    std::vector<protocol::ArmValue> m_initInputs;
    std::vector<std::string> m_weightNames;
    std::vector<protocol::TensorInfo> m_weightInfos;
    Buffers m_weights;
    std::vector<InputSet> m_sets;
    struct Fresh
    {
        std::uint64_t drawn = 0;
        InputSet set;
        std::unique_ptr<ArmProcess> golden;
        CallScript script;
    };
    Fresh m_fresh;
    OutputShape m_contract;
    std::unique_ptr<OtherWeights> m_other;
    bool m_otherTried = false;
    std::vector<Calibration> m_calibration;
    Buffers m_outputs;
};

} // namespace lathe::worker
