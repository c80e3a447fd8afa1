// The elements that a buffer takes in memory when lowering has given it padded strides and versions.
//
//   with T.block("S"):                                   for k in T.serial(16, annotations={
//       T.block_attr({"buffer_dim_align":                        "software_pipeline_stage": [0, 2],
//                     [[0, 0, 32, 8]]})                          "software_pipeline_order": [0, 1]}):
//       S[vi, vj] = A[vi, vj]                                with T.block("S"): ...      is used two iterations later:
//                                                            with T.block("C"): ...      three versions of it
//   rows of 32 elements begin 40 apart
//
// What the annotations mean is said in codegen/lower: align_strides.h, storage_annotations.h, software_pipeline.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace tilewright {

class StoredElements {
 public:
  explicit StoredElements(const Function& function);

  // Elements of a buffer whose part with these extents is allocated directly in `loop` (null: in none). INT64_MAX when
  // it is more than can be said.
  int64_t Of(const BufferNode& buffer, const std::vector<int64_t>& extents, const ForNode* loop) const;

 private:
  struct Alignment {
    int64_t factor, offset;
  };
  int64_t Versions(const BufferNode& buffer, const ForNode* loop) const;

  std::unordered_map<const VarNode*, std::unordered_map<int64_t, Alignment>> alignments_;  // by data pointer, by axis
  std::unordered_set<const VarNode*> double_buffered_;
  friend class CollectStorageAnnotations;
};

}  // namespace tilewright
