// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The value types that core and worker share: they travel as JSON (types_json.h) and are what the
/// result document is assembled from. Times are microseconds unless the name says otherwise, sizes
/// are bytes.
namespace lathe::protocol {

enum class DType : std::uint8_t {
    Bool,
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    Float8E4M3,
    Float8E5M2,
};
/// torch's name without "torch." ("bfloat16"), as written to JSON.
const char* toString(DType dtype);
std::optional<DType> dtypeFromString(std::string_view name);
/// Bytes of one element.
std::size_t elementBytes(DType dtype);

/// One tensor's description. Contiguous (row-major) when strides is empty; strides count elements.
struct TensorInfo
{
    DType dtype = DType::Float32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    [[nodiscard]] std::int64_t elements() const;
    /// Bytes of the dense contiguous tensor.
    [[nodiscard]] std::uint64_t bytes() const;
    bool operator==(const TensorInfo&) const = default;
};

enum class Verdict : std::uint8_t {
    Correct,
    Wrong,
    BuildFailed,
    LoadFailed,
    Crashed,
    Timeout,
    Rejected,
    Refused
};
const char* toString(Verdict verdict); ///< "correct", "wrong", "build_failed", ...
std::optional<Verdict> verdictFromString(std::string_view name);

enum class Tier : std::uint8_t { Quick, Full, Accept };
const char* toString(Tier tier);
std::optional<Tier> tierFromString(std::string_view name);

enum class Until : std::uint8_t { Build, Verify, Bench, Profile };
const char* toString(Until until);
std::optional<Until> untilFromString(std::string_view name);

/// The arms that a candidate can be timed against: "eager", "compile:default", ...
const std::vector<std::string>& baselineArms();

/// A module constant of the task file, replaced in the syntax tree before execution: name and
/// Python literal text. The name "get_inputs.x" or "Model.x" is a keyword argument of that call
/// instead.
struct Constant
{
    std::string name;
    std::string literal; ///< "4096", "'bfloat16'", "[1, 2]"
};

/// One named shape/dtype of a task.
struct Variant
{
    std::string name;
    std::vector<Constant> constants;
    std::string device = "any"; ///< "cpu", "cuda" or "any"
    bool headline = false;      ///< what the quick tier measures
    bool hidden = false;        ///< only judged in the accept tier, never shown to an agent
};

struct Tolerance
{
    std::optional<double> relative; ///< absent: calibrated
    std::optional<double> absolute;
};

/// What a task says about one argument of forward.
struct InputRule
{
    int index = 0;                ///< position of the argument, from 0
    std::string domain = "given"; ///< "given": only get_inputs' own values; "any", "positive",
                                  ///< "probabilities", "labels", "indices", "triangular", "mask",
                                  ///< "sorted": other draws inside the domain as well
    std::string below;            ///< labels, indices: a number or the name of a constant
    std::string layout = "given"; ///< "contiguous", "transposed", "channels_last", "offset"
};

/// What a task says about one output tensor of forward, counted in the order they are returned.
struct OutputRule
{
    int index = 0;
    std::string compare = "values"; ///< "values", "ties", "set", "codes"
    std::string of;                 ///< ties: whose values the indices point into, "input:0"
    int axis = -1;                  ///< ties: the axis that the indices count along
    Tolerance tolerance;
};

/// A constant that hidden variants may set to any multiple inside a range.
struct FreeDimension
{
    std::string name;
    std::int64_t min = 1;
    std::int64_t max = 1;
    std::int64_t multiple = 1;
};

/// What the worker needs of a task: the reference's text and how to judge it.
struct TaskSpec
{
    std::string key;               ///< "starter/rmsnorm_residual"
    std::string source;            ///< the reference .py, exactly
    std::vector<Variant> variants; ///< at least one ("default", no constants) after reading
    std::string precision = "pytorch-default";
    std::string mode = "eval";       ///< or "train"
    std::string weights = "mutable"; ///< or "frozen"
    std::vector<InputRule> inputs;
    std::vector<OutputRule> outputs;
    std::vector<FreeDimension> free;
    std::string buffers = "ignore";     ///< "compare": as one call leaves them
    bool backward = false;              ///< gradients are compared and timed as well
    std::vector<int> mutates;           ///< indexes of inputs that forward may change
    std::vector<std::string> libraries; ///< library families a candidate may call ("*": any)
    Tolerance tolerance;
    std::string stochastic = "none";
    double forwardTimeoutSeconds = 60;
    double importTimeoutSeconds = 60;
};

struct CandidateFile
{
    std::string path; ///< relative, safe
    std::string text;
};

/// A solution as the worker gets it.
struct CandidateSpec
{
    std::string id;
    std::string parent;
    std::string format = "native"; ///< "native", "modelnew" or "cuda-agent"
    std::vector<CandidateFile> files;
    std::vector<std::string> flags; ///< extra compiler flags
};

struct Diagnostic
{
    std::string file;
    int line = 0;
    int column = 0;
    std::string severity; ///< "error", "warning", "note"
    std::string message;
};

struct KernelInfo
{
    std::string name;
    std::optional<int> registers;
    std::optional<std::int64_t> sharedBytes;
    std::optional<std::int64_t> spillStoreBytes;
    std::optional<std::int64_t> spillLoadBytes;
};

struct BuildReport
{
    std::string status = "skipped"; ///< "ok", "failed", "skipped"
    double seconds = 0;
    bool cached = false;
    std::vector<Diagnostic> diagnostics;
    std::vector<KernelInfo> kernels;
    std::string log; ///< travels as an attachment, not in the document
};

enum class GateStatus : std::uint8_t { Pass, Fail, Skip, Warn };
const char* toString(GateStatus status);
std::optional<GateStatus> gateStatusFromString(std::string_view name);

/// One gate's verdict. detailJson is a JSON object's text ("{}" when there is none).
struct GateResult
{
    std::string name;
    GateStatus status = GateStatus::Skip;
    std::string reason;
    std::string detailJson = "{}";
};

struct TimingRow
{
    std::string arm; ///< "candidate", "parent", "eager", "compile:default", "aa"
    std::string variant;
    std::string protocol; ///< "warm" or "cold"
    int samples = 0;
    int discarded = 0;
    double medianUs = 0;
    double lowUs = 0; ///< 95 % block-bootstrap interval of the median
    double highUs = 0;
    double p10Us = 0;
    double p90Us = 0;
    double cvPercent = 0;
    std::vector<double> samplesUs; ///< in run order, per call; not in the document
};

/// ratio > 1: arm is faster than against.
struct Comparison
{
    std::string arm;
    std::string against;
    std::string variant;
    std::string protocol;
    double ratio = 1;
    double low = 1;
    double high = 1;
    std::string verdict; ///< "faster", "same", "slower", "undecided"
};

struct Conditions
{
    int threads = 0;
    std::string affinity; ///< "0,1"
    std::string allocator;
    double loadAverage = 0;
    std::string clocks;   ///< empty where unknown
    std::string throttle; ///< empty where unknown
};

/// Who measured.
struct TargetInfo
{
    std::string name;   ///< "local"
    std::string device; ///< "CPU: AMD EPYC, 2 cores" / "NVIDIA H200"
    std::string driver;
    std::string toolchain; ///< "g++ 12.2.0; nvcc 13.0"
    std::string torch;
    std::string sandbox; ///< rung of the ladder: "bubblewrap", ...
};

} // namespace lathe::protocol
