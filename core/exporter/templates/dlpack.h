/* SPDX-FileCopyrightText: the Lathe authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of DLPack's C ABI that kernels see: a view of a tensor. The layout is the standard's. */
#include <stdint.h>

typedef enum {
    kDLCPU = 1,
    kDLCUDA = 2,
} DLDeviceType;

typedef struct
{
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;

typedef enum {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e5m2 = 12,
} DLDataTypeCode;

typedef struct
{
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct
{
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides; /* in elements */
    uint64_t byte_offset;
} DLTensor;
