// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a native kernel includes: tensors, checks and the export macro. Plain C++17 over
// apache-tvm-ffi's C ABI, for g++ and nvcc; kept small because it is compiled at every keystroke's
// build.
//
//   #include <lathe/kernel.h>
//   static void scale(lathe::Tensor x, lathe::Tensor y, double factor) { ... }
//   LATHE_EXPORT(scale, scale)
//
// In Python: lathe_native.scale(x, y, 2.0). Outputs are allocated by the caller and passed as
// arguments.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <dlpack/dlpack.h>
#include <exception>
#include <tvm/ffi/c_api.h>
#include <type_traits>

// Weak, so that the library loads in any host of this C ABI: Lathe's own error channel first
// (libtvm_ffi symbolises a stack for every error, which takes a second), then libtvm_ffi's, then
// none.
extern "C" {
__attribute__((weak)) void latheRaiseError(const char* message);
__attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
__attribute__((weak)) void* TVMFFIEnvGetStream(int32_t deviceType, int32_t deviceId);
}

namespace lathe {

/// What lathe::check throws. Holds its text itself: <string> would double the time to compile a
/// small kernel.
class Error : public std::exception
{
public:
    template <class... A>
    explicit Error(const char* format, A... values)
    {
        std::snprintf(m_text, sizeof m_text, format, values...);
    }
    const char* what() const noexcept override { return m_text; }

private:
    char m_text[240];
};

/// Throws when the condition does not hold; Python sees a RuntimeError with the message.
inline void check(bool condition, const char* message)
{
    if (!condition)
        throw Error("%s", message);
}
/// The same for std::string and whatever else has c_str().
template <class Text>
auto check(bool condition, const Text& message) -> decltype(message.c_str(), void())
{
    if (!condition)
        throw Error("%s", message.c_str());
}

/// bfloat16 by its bits. Converts exactly to float; from float it rounds to nearest even, as
/// PyTorch does.
struct BFloat16
{
    std::uint16_t bits;
    BFloat16() = default;
    explicit BFloat16(float value)
    {
        std::uint32_t word;
        __builtin_memcpy(&word, &value, sizeof word);
        bits = value != value
                   ? std::uint16_t{0x7fc0}
                   : static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
    operator float() const
    {
        const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
        float value;
        __builtin_memcpy(&value, &word, sizeof value);
        return value;
    }
};

/// IEEE half precision by its bits. In device code use __half over the same memory.
struct Half
{
    std::uint16_t bits;
    Half() = default;
#ifdef __FLT16_MANT_DIG__
    explicit Half(float value)
    {
        const _Float16 half = static_cast<_Float16>(value);
        __builtin_memcpy(&bits, &half, sizeof bits);
    }
    operator float() const
    {
        _Float16 half;
        __builtin_memcpy(&half, &bits, sizeof half);
        return static_cast<float>(half);
    }
#endif
};

enum class DType {
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
    Other,
};

inline const char* toString(DType dtype)
{
    static const char* const kNames[] = {"bool",
                                         "uint8",
                                         "int8",
                                         "int16",
                                         "int32",
                                         "int64",
                                         "float16",
                                         "bfloat16",
                                         "float32",
                                         "float64",
                                         "complex64",
                                         "complex128",
                                         "float8_e4m3fn",
                                         "float8_e5m2",
                                         "unknown"};
    return kNames[static_cast<int>(dtype)];
}

namespace detail {
template <class T>
struct DTypeOf
{
    static constexpr DType value = DType::Other;
};
#define LATHE_DTYPE_OF(type, name)                                                                 \
    template <>                                                                                    \
    struct DTypeOf<type>                                                                           \
    {                                                                                              \
        static constexpr DType value = DType::name;                                                \
    };
LATHE_DTYPE_OF(bool, Bool)
LATHE_DTYPE_OF(std::uint8_t, UInt8)
LATHE_DTYPE_OF(std::int8_t, Int8)
LATHE_DTYPE_OF(std::int16_t, Int16)
LATHE_DTYPE_OF(std::int32_t, Int32)
LATHE_DTYPE_OF(std::int64_t, Int64)
LATHE_DTYPE_OF(lathe::Half, Float16)
LATHE_DTYPE_OF(lathe::BFloat16, BFloat16)
LATHE_DTYPE_OF(float, Float32)
LATHE_DTYPE_OF(double, Float64)
#undef LATHE_DTYPE_OF
} // namespace detail

/// A view of a tensor that Python owns; valid during the call. Sizes and strides count elements.
class Tensor
{
public:
    explicit Tensor(const DLTensor* tensor)
        : m_tensor(tensor)
    {}

    int ndim() const { return m_tensor->ndim; }
    std::int64_t size(int dim) const { return m_tensor->shape[at(dim)]; }
    std::int64_t stride(int dim) const { return m_tensor->strides[at(dim)]; }
    std::int64_t numel() const
    {
        std::int64_t count = 1;
        for (int i = 0; i < m_tensor->ndim; ++i)
            count *= m_tensor->shape[i];
        return count;
    }
    bool isContiguous() const
    {
        std::int64_t expected = 1;
        for (int i = m_tensor->ndim - 1; i >= 0; --i) {
            if (m_tensor->shape[i] != 1 && m_tensor->strides[i] != expected)
                return numel() == 0;
            expected *= m_tensor->shape[i];
        }
        return true;
    }
    bool sameShape(const Tensor& other) const
    {
        if (ndim() != other.ndim())
            return false;
        for (int i = 0; i < ndim(); ++i)
            if (m_tensor->shape[i] != other.m_tensor->shape[i])
                return false;
        return true;
    }
    bool isCpu() const { return m_tensor->device.device_type == kDLCPU; }
    bool isCuda() const { return m_tensor->device.device_type == kDLCUDA; }
    int deviceIndex() const { return m_tensor->device.device_id; }

    DType dtype() const
    {
        const DLDataType type = m_tensor->dtype;
        if (type.lanes != 1)
            return DType::Other;
        switch (type.code * 1000 + type.bits) {
        case kDLBool * 1000 + 8:
            return DType::Bool;
        case kDLUInt * 1000 + 8:
            return DType::UInt8;
        case kDLInt * 1000 + 8:
            return DType::Int8;
        case kDLInt * 1000 + 16:
            return DType::Int16;
        case kDLInt * 1000 + 32:
            return DType::Int32;
        case kDLInt * 1000 + 64:
            return DType::Int64;
        case kDLFloat * 1000 + 16:
            return DType::Float16;
        case kDLBfloat * 1000 + 16:
            return DType::BFloat16;
        case kDLFloat * 1000 + 32:
            return DType::Float32;
        case kDLFloat * 1000 + 64:
            return DType::Float64;
        case kDLComplex * 1000 + 64:
            return DType::Complex64;
        case kDLComplex * 1000 + 128:
            return DType::Complex128;
        case kDLFloat8_e4m3fn * 1000 + 8:
            return DType::Float8E4M3;
        case kDLFloat8_e5m2 * 1000 + 8:
            return DType::Float8E5M2;
        default:
            return DType::Other;
        }
    }

    /// The elements; T must be the tensor's element type. Types that have no match here (__half,
    /// __nv_bfloat16, float4, void ...) are taken by the caller's word.
    template <class T>
    T* data() const
    {
        constexpr DType wanted = detail::DTypeOf<typename std::remove_cv<T>::type>::value;
        if (wanted != DType::Other && wanted != dtype())
            throw Error(
                "the tensor holds %s, the kernel reads %s", toString(dtype()), toString(wanted));
        return reinterpret_cast<T*>(static_cast<char*>(m_tensor->data) + m_tensor->byte_offset);
    }
    const DLTensor& raw() const { return *m_tensor; }

private:
    int at(int dim) const
    {
        const int index = dim < 0 ? dim + m_tensor->ndim : dim;
        if (index < 0 || index >= m_tensor->ndim)
            throw Error("dimension %d of a tensor with %d dimensions", dim, ndim());
        return index;
    }
    const DLTensor* m_tensor;
};

/// PyTorch's current stream on the tensor's device, as cudaStream_t; null (the default stream)
/// where the host sets none.
inline void* cudaStreamOf(const DLTensor& tensor)
{
    return TVMFFIEnvGetStream
               ? TVMFFIEnvGetStream(tensor.device.device_type, tensor.device.device_id)
               : nullptr;
}
#ifdef __CUDACC__
inline cudaStream_t cudaStream(const Tensor& tensor)
{
    return static_cast<cudaStream_t>(cudaStreamOf(tensor.raw()));
}
#else
inline void* cudaStream(const Tensor& tensor)
{
    return cudaStreamOf(tensor.raw());
}
#endif

namespace detail {

[[noreturn]] inline void wrongArgument(int index, const char* wanted)
{
    throw Error("argument %d must be %s", index, wanted);
}

template <class T, class Enable = void>
struct Argument
{
    static_assert(!std::is_same<T, T>::value,
                  "a kernel's parameters are Tensor, integers, float, double or bool");
};
template <>
struct Argument<Tensor>
{
    static Tensor get(const TVMFFIAny& any, int index)
    {
        if (any.type_index == kTVMFFIDLTensorPtr)
            return Tensor(static_cast<const DLTensor*>(any.v_ptr));
        if (any.type_index
            == kTVMFFITensor) // a tvm-ffi tensor object: its header, then the DLTensor
            return Tensor(reinterpret_cast<const DLTensor*>(reinterpret_cast<const char*>(any.v_obj)
                                                            + sizeof(TVMFFIObject)));
        wrongArgument(index, "a tensor");
    }
};
template <>
struct Argument<bool>
{
    static bool get(const TVMFFIAny& any, int index)
    {
        if (any.type_index != kTVMFFIBool && any.type_index != kTVMFFIInt)
            wrongArgument(index, "a bool");
        return any.v_int64 != 0;
    }
};
template <class T>
struct Argument<T, typename std::enable_if<std::is_integral<T>::value>::type>
{
    static T get(const TVMFFIAny& any, int index)
    {
        if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool)
            wrongArgument(index, "an int");
        const T value = static_cast<T>(any.v_int64);
        if (static_cast<std::int64_t>(value) != any.v_int64)
            wrongArgument(index, "an int that fits the kernel's parameter");
        return value;
    }
};
template <class T>
struct Argument<T, typename std::enable_if<std::is_floating_point<T>::value>::type>
{
    static T get(const TVMFFIAny& any, int index)
    {
        if (any.type_index == kTVMFFIFloat)
            return static_cast<T>(any.v_float64);
        if (any.type_index != kTVMFFIInt)
            wrongArgument(index, "a float");
        return static_cast<T>(any.v_int64);
    }
};

template <std::size_t... I>
struct Indexes
{};
template <std::size_t N, std::size_t... I>
struct MakeIndexes : MakeIndexes<N - 1, N - 1, I...>
{};
template <std::size_t... I>
struct MakeIndexes<0, I...>
{
    using Type = Indexes<I...>;
};

template <class T>
using Bare = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

template <class... A, std::size_t... I>
void apply(void (*function)(A...), const TVMFFIAny* args, Indexes<I...>)
{
    function(Argument<Bare<A>>::get(args[I], static_cast<int>(I))...);
}

inline int raise(const char* message)
{
    if (latheRaiseError)
        latheRaiseError(message);
    else if (TVMFFIErrorSetRaisedFromCStr)
        TVMFFIErrorSetRaisedFromCStr("RuntimeError", message);
    return -1;
}

/// The boundary: unpacks, calls, and lets no exception out.
template <class... A>
int invoke(void (*function)(A...), const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result)
{
    try {
        if (count != static_cast<std::int32_t>(sizeof...(A)))
            throw Error("takes %d arguments, got %d",
                        static_cast<int>(sizeof...(A)),
                        static_cast<int>(count));
        apply(function, args, typename MakeIndexes<sizeof...(A)>::Type());
        result->type_index = kTVMFFINone;
        result->zero_padding = 0;
        result->v_int64 = 0;
        return 0;
    } catch (const std::exception& error) {
        return raise(error.what());
    } catch (...) {
        return raise("the kernel threw something that is not a std::exception");
    }
}

} // namespace detail
} // namespace lathe

/// Exports function (returning void) to Python as lathe_native.name.
#define LATHE_EXPORT(name, function)                                                               \
    extern "C" __attribute__((visibility("default"))) int __tvm_ffi_##name(                        \
        void*, const TVMFFIAny* latheArgs_, int32_t latheCount_, TVMFFIAny* latheResult_)          \
    {                                                                                              \
        return ::lathe::detail::invoke(function, latheArgs_, latheCount_, latheResult_);           \
    }
