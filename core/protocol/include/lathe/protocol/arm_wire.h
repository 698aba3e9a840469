// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>
#include <lathe/protocol/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The wire between the judge and an arm: SOCK_SEQPACKET, one flat, length-checked, typed message a
/// packet; file descriptors by SCM_RIGHTS. Nothing an arm says is believed; every reader checks
/// every length.
///
/// A message is {u32 magic, u16 type, u16 field count, u32 serial, u32 body bytes} and then fields
/// {u16 tag, u16 kind, u32 bytes, payload, zero padding to 8}. All little-endian. At most
/// kMaxPacketBytes.
namespace lathe::protocol {

inline constexpr std::uint32_t kArmMagic = 0x4d52414c; // "LARM"
inline constexpr std::size_t kMaxPacketBytes = 128 * 1024;
inline constexpr std::size_t kMaxPacketFds = 200;

enum class ArmMessage : std::uint16_t {
    // zygote's control socket. The zygote has imported torch and run no op.
    Ready = 1, ///< zygote -> judge, once: Text torch version, Text2 python version
    Fork = 2,  ///< judge -> zygote, fd 0: the phase's socket, fd 1: pipe for its stdout and stderr.
               ///< Int uid (0:
    ///< keep), Text phase name, Ints affinity (cores), Int2 threads, Text2 device ("cpu",
    ///< "cuda:0").
    ///< The child talks on that socket only.
    Forked = 3, ///< zygote -> judge: Int pid (in the judge's pid namespace by SCM_CREDENTIALS where
                ///< it matters)
    ChildExited = 4, ///< zygote -> judge: Int pid, Int2 wait status

    // phase socket: requests of the judge. Each is answered by exactly one Ok, Failed or its own
    // reply.
    LoadReference =
        20, ///< Text path of the task file, Text2 compile mode ("" eager, "default", ...), Strings
    ///< constants as name, literal, name, literal..., Int seed, Text3 mode ("eval"/"train"),
    ///< Text4 precision, Int2 1: upcast parameters to float64 (golden), Ints what is compared
    ///< besides the outputs (bit 0 gradients, bit 1 buffers)
    LoadCandidate = 21, ///< Text folder, Text2 format, Values init inputs, Strings weight names +
                        ///< Tensors their infos +
    ///< fds (read-only; the arm gives the model its own copies unless frozen), Int LoadFlags,
    ///< Int2 seed, Text3 mode, Text4 precision, Ints as in LoadReference
    GetInitInputs = 22, ///< reply InitInputs: Values
    GetWeights =
        23, ///< reply Described: Strings names, Tensors infos. Then FillTensors copies them out.
    MakeInputs = 24, ///< Int seed, Int2 set id, Values a tuple (index, domain, below, layout) for
    ///< each argument that has rules, Ints 1: draw anew inside the domains,
    ///< then the positions of mutable arguments. Reply Described:
    ///< Tensors of the tensor arguments,
    ///< Values the argument
    ///< list (tensor arguments appear as Value::TensorRef)
    FillTensors = 25, ///< Int which (0 weights, 1 inputs of set Int2, 2 outputs of the last Run),
                      ///< fds writable: copy
                      ///< contiguous bytes into each. Ints, when given: number of the first tensor
    BindInputs = 26,  ///< Int set id, Tensors infos, Values argument list, Ints mutable indexes,
                      ///< fds: map read-only
                      ///< (mutable ones: private writable copy per call). Int2 kReleaseSet: let go
                      ///< of the set instead
    Run = 27, ///< Int set id, Int2 RunFlags. Forward once, device synchronised. Reply Described:
    ///< Tensors of the outputs, Values the output structure, Ints per output: index of the
    ///< input it aliases or -1, Int what the call left of the floating-point mode, Text
    ///< operators, one a line
    Time = 28, ///< Ints set ids to rotate over, Int calls, Int2 cache flush bytes before the first
               ///< call (0:
    ///< warm). Reply Timed: Floats arm's own seconds [total, (cuda: event seconds of the calls, 1
    ///< when the device waited for the host in between, else 0)]
    Null = 29,  ///< nothing: the round trip's calibration
    Trace = 30, ///< Int set id, Int2 calls. Reply Traced: fd 0 a memfd with Chrome trace JSON, Int
                ///< bytes,
                ///< Floats [seconds busy in own kernels, seconds of the span]
    HashInputs = 31, ///< reserved: the judge hashes inputs itself
    Flush = 32,      ///< Int bytes: stream over that many bytes (cold protocol), untimed. Ints set
                     ///< ids with Int2 calls: also make the private copies that the next Time needs
    Exit = 33,
    Discover =
        34, ///< Text folder: import the candidate to learn which extensions it asks for. Reply
            ///< Extensions
    ReplaceWeights =
        35, ///< Strings weight names, Tensors their infos, fds (read-only), Values init
            ///< inputs, Int 1: a new instance of ModelNew, 0: copied into the present
            ///< one. Ok

    // replies
    Ok = 60,
    Failed = 61, ///< Text stage ("import", "constants", "init", "load", "prepare", "inputs",
                 ///< "declined", "forward", "contract", "device", "wire"), Text2 one sentence,
                 ///< Text3 traceback, Int line (0 unknown), Text4 file
    Described = 62,
    InitInputs = 63,
    Timed = 64,
    Traced = 65,
    Extensions = 66, ///< fd 0 a JSON list, Int its bytes
};

/// Flags of Run.
enum RunFlag : std::int64_t {
    kRunGolden = 1,    ///< inputs upcast to float64
    kRunOperators = 2, ///< record the operators that forward calls
};

/// Flags of LoadCandidate.
enum LoadFlag : std::int64_t {
    kLoadFrozen = 1,      ///< the weights are shared read-only, not copied
    kLoadSkipKernels = 2, ///< native kernels return at once
};

/// Int2 of BindInputs.
constexpr std::int64_t kReleaseSet = 1;

/// Payloads by kind (the tag's kind is fixed): Int i64 · Ints i64... · Floats f64... · Text bytes ·
/// Strings u32 count, {u32 bytes, text}... · Tensors u32 count, {u8 dtype, u8 dimensions, u8 1 when
/// strides follow, u8 0, i64 shape..., i64 strides...}... · Values u32 count, value...; a value is
/// u8 kind and then i64 (Bool, Int, TensorRef), f64 (Float), {u32 bytes, text} (String), {u32
/// count, value...} (Tuple, List, Dict) or nothing (None).
enum class FieldKind : std::uint16_t { Int = 1, Ints, Floats, Text, Strings, Tensors, Values };

enum class FieldTag : std::uint16_t {
    Int = 1,
    Int2,
    Ints,
    Floats,
    Text,
    Text2,
    Text3,
    Text4,
    Strings,
    Tensors,
    Values
};

/// A non-tensor Python value, or the place of a tensor, in an argument or result structure.
struct ArmValue
{
    enum class Kind : std::uint8_t { None, Bool, Int, Float, String, TensorRef, Tuple, List, Dict };
    Kind kind = Kind::None;
    std::int64_t integer = 0; ///< Bool, Int; TensorRef: index into Tensors
    double real = 0;
    std::string text;
    std::vector<ArmValue> items; ///< Tuple, List; Dict: key, value, key, value
};

/// Builds one message.
class ArmWriter
{
public:
    explicit ArmWriter(ArmMessage type)
        : m_type(type)
    {}
    ArmWriter& integer(FieldTag tag, std::int64_t value);
    ArmWriter& integers(FieldTag tag, const std::vector<std::int64_t>& values);
    ArmWriter& floats(FieldTag tag, const std::vector<double>& values);
    ArmWriter& text(FieldTag tag, std::string_view value);
    ArmWriter& strings(FieldTag tag, const std::vector<std::string>& values);
    ArmWriter& tensors(FieldTag tag, const std::vector<TensorInfo>& values);
    ArmWriter& values(FieldTag tag, const std::vector<ArmValue>& values);
    /// The packet; a body over kMaxPacketBytes is an InvalidArgument error.
    [[nodiscard]] Result<std::string> packet(std::uint32_t serial) const;

private:
    void field(FieldTag tag, std::uint16_t kind, std::string_view payload);
    ArmMessage m_type;
    std::uint16_t m_fields = 0;
    std::string m_body;
};

/// A received, fully validated message. Absent fields read as 0, empty.
class ArmReader
{
public:
    static Result<ArmReader> parse(std::string_view packet);
    [[nodiscard]] ArmMessage type() const { return m_type; }
    [[nodiscard]] std::uint32_t serial() const { return m_serial; }
    [[nodiscard]] bool has(FieldTag tag) const;
    [[nodiscard]] std::int64_t integer(FieldTag tag) const;
    [[nodiscard]] Result<std::vector<std::int64_t>> integers(FieldTag tag) const;
    [[nodiscard]] Result<std::vector<double>> floats(FieldTag tag) const;
    [[nodiscard]] std::string text(FieldTag tag) const;
    [[nodiscard]] Result<std::vector<std::string>> strings(FieldTag tag) const;
    [[nodiscard]] Result<std::vector<TensorInfo>>
    tensors(FieldTag tag) const; ///< shapes >= 0, at most 16 dims, no overflow
    [[nodiscard]] Result<std::vector<ArmValue>> values(FieldTag tag) const; ///< depth at most 32

private:
    struct Field
    {
        FieldTag tag;
        std::uint16_t kind;
        std::string payload;
    };
    [[nodiscard]] const Field* find(FieldTag tag) const;
    ArmMessage m_type = ArmMessage::Ok;
    std::uint32_t m_serial = 0;
    std::vector<Field> m_fields;
};

/// A packet with its descriptors.
struct ArmPacket
{
    std::string bytes;
    std::vector<UniqueFd> fds;
};

/// Sends one packet with descriptors; Protocol error when the peer is gone. Never raises SIGPIPE.
Result<void> sendPacket(int socket, std::string_view bytes, const std::vector<int>& fds = {});

/// Receives one packet. Waits until deadlineNs (CLOCK_MONOTONIC; -1: for ever) or until cancelFd
/// (-1: none) is readable. Timeout, Cancelled, or Protocol (peer gone, truncated packet) errors.
/// All fds are close-on-exec.
Result<ArmPacket> receivePacket(int socket, std::int64_t deadlineNs, int cancelFd = -1);

/// A connected SOCK_SEQPACKET pair, close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> makePacketPair();

} // namespace lathe::protocol
