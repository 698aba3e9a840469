// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/tensor_bridge.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstdint>

namespace lathe::arm {
namespace {

using protocol::DType;

struct TypePair
{
    DType ours;
    at::ScalarType theirs;
    DLDataType dlpack;
};

constexpr TypePair kTypes[] = {
    {DType::Bool, at::kBool, {kDLBool, 8, 1}},
    {DType::UInt8, at::kByte, {kDLUInt, 8, 1}},
    {DType::Int8, at::kChar, {kDLInt, 8, 1}},
    {DType::Int16, at::kShort, {kDLInt, 16, 1}},
    {DType::Int32, at::kInt, {kDLInt, 32, 1}},
    {DType::Int64, at::kLong, {kDLInt, 64, 1}},
    {DType::Float16, at::kHalf, {kDLFloat, 16, 1}},
    {DType::BFloat16, at::kBFloat16, {kDLBfloat, 16, 1}},
    {DType::Float32, at::kFloat, {kDLFloat, 32, 1}},
    {DType::Float64, at::kDouble, {kDLFloat, 64, 1}},
    {DType::Complex64, at::kComplexFloat, {kDLComplex, 64, 1}},
    {DType::Complex128, at::kComplexDouble, {kDLComplex, 128, 1}},
    {DType::Float8E4M3, at::kFloat8_e4m3fn, {kDLFloat8_e4m3fn, 8, 1}},
    {DType::Float8E5M2, at::kFloat8_e5m2, {kDLFloat8_e5m2, 8, 1}},
};

const TypePair* pairOf(at::ScalarType type)
{
    for (const TypePair& pair : kTypes)
        if (pair.theirs == type)
            return &pair;
    return nullptr;
}

const TypePair* pairOf(DType type)
{
    for (const TypePair& pair : kTypes)
        if (pair.ours == type)
            return &pair;
    return nullptr;
}

bool isDense(const at::Tensor& tensor)
{
    return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_meta()
           && !tensor.is_quantized() && tensor.has_storage();
}

/// Runs torch code at our edge: its exceptions become errors.
template <class F>
auto guarded(const char* what, F&& body) -> Result<decltype(body())>
{
    try {
        return body();
    } catch (const c10::Error& error) {
        return fail(ErrorCode::Unsupported,
                    std::string(what) + ": " + error.what_without_backtrace());
    } catch (const std::exception& error) {
        return fail(ErrorCode::Unsupported, std::string(what) + ": " + error.what());
    }
}

at::TensorOptions optionsOf(const TypePair& pair, const std::string& device)
{
    return at::TensorOptions().dtype(pair.theirs).device(at::Device(device));
}

} // namespace

bool isTensor(PyObjectPtr object)
{
    return object && THPVariable_Check(object);
}

bool isPlainTensor(PyObjectPtr object)
{
    return object && THPVariable_CheckTypeExact(Py_TYPE(object));
}

Result<protocol::TensorInfo> describeTensor(PyObjectPtr object, const std::string& device)
{
    const at::Tensor& tensor = THPVariable_Unpack(object);
    if (!isDense(tensor))
        return fail(ErrorCode::Unsupported, "is not a dense tensor");
    if (tensor.device() != at::Device(device))
        return fail(ErrorCode::Unsupported,
                    "is on " + tensor.device().str() + ", not on " + device);
    const TypePair* pair = pairOf(tensor.scalar_type());
    if (!pair)
        return fail(ErrorCode::Unsupported,
                    std::string("has the unsupported dtype ")
                        + c10::toString(tensor.scalar_type()));
    protocol::TensorInfo info{pair->ours, tensor.sizes().vec(), {}};
    if (!tensor.is_contiguous())
        info.strides = tensor.strides().vec();
    return info;
}

const void* storageOf(PyObjectPtr object)
{
    const at::Tensor& tensor = THPVariable_Unpack(object);
    return isDense(tensor) && tensor.numel() > 0 ? tensor.storage().data() : nullptr;
}

Result<PyObjectPtr> tensorOver(std::shared_ptr<void> memory,
                               const protocol::TensorInfo& info,
                               const std::string& device)
{
    return guarded("the tensor could not be made", [&] {
        const TypePair* pair = pairOf(info.dtype);
        void* const address = memory.get();
        at::Tensor tensor = at::from_blob(
            address,
            info.shape,
            [memory = std::move(memory)](void*) mutable { memory.reset(); },
            optionsOf(*pair, device),
            at::Device(device));
        if (!info.strides.empty()) {
            at::Tensor laidOut =
                at::empty_strided(info.shape, info.strides, optionsOf(*pair, device));
            laidOut.copy_(tensor);
            tensor = laidOut;
        }
        return PyObjectPtr(THPVariable_Wrap(std::move(tensor)));
    });
}

Result<void> copyOut(PyObjectPtr object, void* target, const std::string& device)
{
    auto done = guarded("the tensor could not be copied", [&] {
        const at::Tensor source = THPVariable_Unpack(object).detach();
        at::from_blob(target, source.sizes(), source.options().device(at::Device(device)))
            .copy_(source);
        return true;
    });
    if (!done)
        return tl::unexpected(done.error());
    return {};
}

Result<PyObjectPtr> privateCopy(PyObjectPtr object)
{
    return guarded("the input could not be copied", [&] {
        return PyObjectPtr(THPVariable_Wrap(THPVariable_Unpack(object).detach().clone()));
    });
}

Result<PyObjectPtr> widened(PyObjectPtr object)
{
    return guarded("the input could not be widened", [&] {
        const at::Tensor& tensor = THPVariable_Unpack(object);
        at::Tensor wide = tensor.is_complex()          ? tensor.to(at::kComplexDouble)
                          : tensor.is_floating_point() ? tensor.to(at::kDouble)
                                                       : tensor;
        return PyObjectPtr(THPVariable_Wrap(std::move(wide)));
    });
}

bool toDlTensor(PyObjectPtr object, DLTensor& out)
{
    const at::Tensor& tensor = THPVariable_Unpack(object);
    if (!isDense(tensor) || tensor.is_conj() || tensor.is_neg())
        return false;
    const TypePair* pair = pairOf(tensor.scalar_type());
    const bool cuda = tensor.is_cuda();
    if (!pair || (!cuda && !tensor.is_cpu()))
        return false;
    out.data = tensor.data_ptr();
    out.device = {cuda ? kDLCUDA : kDLCPU, cuda ? tensor.get_device() : 0};
    out.ndim = static_cast<std::int32_t>(tensor.dim());
    out.dtype = pair->dlpack;
    // The C struct has no const; kernels get sizes and strides to read.
    out.shape = const_cast<std::int64_t*>(tensor.sizes().data());
    out.strides = const_cast<std::int64_t*>(tensor.strides().data());
    out.byte_offset = 0;
    return true;
}

void* currentCudaStream(int deviceIndex)
{
    try {
        const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(deviceIndex));
        return c10::impl::VirtualGuardImpl(at::kCUDA).getStream(device).native_handle();
    } catch (const std::exception&) {
        return nullptr; // the default stream
    }
}

bool setGradEnabled(bool enabled)
{
    const bool before = c10::GradMode::is_enabled();
    c10::GradMode::set_enabled(enabled);
    return before;
}

void setThreadCount(int threads)
{
    if (threads > 0)
        at::set_num_threads(threads);
}

} // namespace lathe::arm
