/* SPDX-FileCopyrightText: the Lathe authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of the TVM FFI C ABI that kernels see: how one argument is passed. Kernels built against
 * it can also be loaded by apache-tvm-ffi itself. */
#include <dlpack/dlpack.h>
#include <stdint.h>

typedef enum {
    kTVMFFINone = 0,
    kTVMFFIInt = 1,
    kTVMFFIBool = 2,
    kTVMFFIFloat = 3,
    kTVMFFIDLTensorPtr = 7,
    kTVMFFITensor = 70,
} TVMFFITypeIndex;

typedef struct
{
    uint64_t combined_ref_count;
    int32_t type_index;
    uint32_t padding;
    void (*deleter)(void* self, int flags);
} TVMFFIObject;

typedef struct
{
    int32_t type_index;
    uint32_t zero_padding;
    union {
        int64_t v_int64;
        double v_float64;
        void* v_ptr;
        TVMFFIObject* v_obj;
    };
} TVMFFIAny;
