// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <cstdint>
#include <dlpack/dlpack.h>
#include <memory>
#include <string>

struct _object;

/// The one place where torch's headers meet Python objects; everything else sees only these plain
/// functions. All need the GIL; none throws; where a PyObject* is returned it is a new reference,
/// or null with an Error.
namespace lathe::arm {

using PyObjectPtr = ::_object*;

bool isTensor(PyObjectPtr object);

/// Exactly torch.Tensor or torch.nn.Parameter: a subclass could still be computing when the clock
/// has stopped.
bool isPlainTensor(PyObjectPtr object);

/// Shape, dtype and (when not contiguous) strides. An Unsupported error names what is wrong with a
/// tensor that is not dense memory on the device.
Result<protocol::TensorInfo> describeTensor(PyObjectPtr tensor, const std::string& device);

/// Identity of the memory behind a tensor, for alias detection; null for an empty one.
const void* storageOf(PyObjectPtr tensor);

/// A tensor over memory that the judge shares. Contiguous bytes; strides that the description names
/// are honoured by a private copy in that layout. The tensor keeps the mapping alive.
Result<PyObjectPtr> tensorOver(std::shared_ptr<void> memory,
                               const protocol::TensorInfo& info,
                               const std::string& device);

/// Writes the elements, row-major, to device memory of at least bytes() bytes.
Result<void> copyOut(PyObjectPtr tensor, void* target, const std::string& device);

/// A writable copy with the same layout.
Result<PyObjectPtr> privateCopy(PyObjectPtr tensor);

/// The tensor in float64 when it is floating point (complex128 when complex), else itself.
Result<PyObjectPtr> widened(PyObjectPtr tensor);

/// Describes a tensor for a native kernel; its sizes and strides point into the tensor. False for a
/// layout or a dtype that DLPack has no word for.
bool toDlTensor(PyObjectPtr tensor, DLTensor& out);

/// PyTorch's current stream of the CUDA device with this index, as cudaStream_t.
void* currentCudaStream(int deviceIndex);

/// Sets gradient recording of this thread and returns what it was.
bool setGradEnabled(bool enabled);

void setThreadCount(int threads);

} // namespace lathe::arm
