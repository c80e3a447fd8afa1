// Contractions as products of matrices, whatever they are written as: what tiles in two dimensions compute.
//
//   C[n, h, w, o] += P[n, h + r, w + s, c] * W[r, s, c, o]
//
//   P_reindex[m, k] = P[..., m // W % H + k // C // S, ...]     m: n, h, w; k: r, s, c; zero above the extents
//   W_reindex[k, o] = W[...]
//   C_reindex[m, o] += P_reindex[m, k] * W_reindex[k, o]        extents rounded up
//   C[...] = C_reindex[m, o]                                    within the extents
//
// The copies are blocks of their own. A rule computes them where a tile reads and writes them, so that no matrix is
// ever stored (implicit convolution); groups and batches are a first dimension of all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "autoschedule/program/contraction.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

struct MatrixSizes {
  int64_t batch = 1, m = 1, n = 1, k = 1;
};

// Nothing when an extent is symbolic.
std::optional<MatrixSizes> MatrixSizesOf(const BlockNode& block, const Contraction& contraction);

struct MatrixForm {
  BlockRv product;                // iterators: batch where there is one, m, n, k
  BlockRv rows, columns, output;  // the copies
};

// `multiples`: what m, n and k are rounded up to. `columns_by_depth`: the column operand's copy is [n, k] instead of
// [k, n].
Outcome<MatrixForm> BringIntoMatrixForm(Schedule& sch, BlockRv block, const Contraction& contraction,
                                        const std::array<int64_t, 3>& multiples, bool columns_by_depth);

}  // namespace tilewright
