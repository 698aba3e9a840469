# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import lathe_native
import torch
import torch.nn as nn

BLOCK = 16  # rows of the weight that are packed together


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, group: int, dtype: str):
        super().__init__()
        if group != 128:
            raise ValueError("only groups of 128 are supported")
        groups = in_features // group

        def frozen(*shape, dtype):
            return nn.Parameter(torch.empty(*shape, dtype=dtype), requires_grad=False)

        self.packed = frozen(out_features, in_features // 2, dtype=torch.uint8)
        self.zeros = frozen(out_features, groups, dtype=torch.uint8)
        self.scales = frozen(out_features, groups, dtype=getattr(torch, dtype))

    def prepare(self):
        rows, groups = self.scales.shape
        blocks = (rows + BLOCK - 1) // BLOCK
        self.block_codes = torch.empty(blocks, groups, BLOCK, 64, dtype=torch.uint8)
        self.block_zeros = torch.empty(blocks, groups, BLOCK, dtype=torch.uint8)
        self.block_scales = torch.empty(blocks, groups, BLOCK, dtype=torch.float32)
        lathe_native.w4a16_pack(
            self.packed, self.zeros, self.scales, self.block_codes, self.block_zeros, self.block_scales
        )

    def forward(self, x: torch.Tensor):
        y = torch.empty(x.shape[0], self.scales.shape[0], dtype=x.dtype)
        lathe_native.w4a16_gemv(x, self.block_codes, self.block_zeros, self.block_scales, y)
        return y
