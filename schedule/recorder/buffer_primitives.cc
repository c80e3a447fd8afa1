#include "base/status_macros.h"
#include "schedule/algebra/flip_sign_bit.h"
#include "schedule/algebra/widen_buffer.h"
#include "schedule/blocks/annotate_buffer_access.h"
#include "schedule/blocks/unsafe_hide_buffer_access.h"
#include "schedule/layout/decompose_padding.h"
#include "schedule/layout/set_layout.h"
#include "schedule/layout/storage_align.h"
#include "schedule/layout/unsafe_set_dtype.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

// "read" or "write", the argument with that number.
Outcome<BufferSelector::Access> AccessOf(const char* primitive, const Application& call, size_t argument) {
  if (call.String(argument) == "read") return BufferSelector::Access::kRead;
  if (call.String(argument) == "write") return BufferSelector::Access::kWrite;
  return Refusal{primitive, "\"{text0}\" is neither \"read\" nor \"write\"", {call.Id(0)}, {}, {call.String(argument)}};
}

Outcome<Applied> ApplyAnnotateAccess(Application& call) {
  TW_ASSIGN_OR_RETURN(BufferSelector::Access access, AccessOf("annotate_buffer_access", call, 2));
  return Changed(
      call, AnnotateBufferAccess(call.function(), call.Id(0), access, IntArg(call, 1), *call.arg(3).As<IndexMap>()));
}

Outcome<Applied> ApplyHideAccess(Application& call) {
  TW_ASSIGN_OR_RETURN(BufferSelector::Access access, AccessOf("unsafe_hide_buffer_access", call, 1));
  return Changed(call, UnsafeHideBufferAccess(call.function(), call.Id(0), access, call.Ints(2)));
}

}  // namespace

std::vector<Primitive> BufferPrimitives() {
  using Role = Primitive::Role;
  return {
      {"storage_align",
       "Rows of a buffer begin at an offset from multiples of a factor.",
       {{"block", ArgKind::kBlock},
        {"buffer_index", ArgKind::kInt},
        {"axis", ArgKind::kInt},
        {"factor", ArgKind::kInt},
        {"offset", ArgKind::kInt}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, StorageAlign(call.function(), call.Id(0), IntArg(call, 1), IntArg(call, 2), call.Int(3),
                                           call.Int(4)));
       }},
      {"set_layout",
       "The elements of a buffer that a block writes lie in memory as a named layout says.",
       {{"block", ArgKind::kBlock}, {"buffer_index", ArgKind::kInt}, {"layout", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, SetLayout(call.function(), call.Id(0), IntArg(call, 1), call.String(2)));
       }},
      {"unsafe_set_dtype",
       "A buffer that a block writes holds elements of another type; results may change.",
       {{"block", ArgKind::kBlock}, {"buffer_index", ArgKind::kInt}, {"dtype", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, UnsafeSetDtype(call.function(), call.Id(0), IntArg(call, 1), call.String(2)));
       }},
      {"widen_buffer",
       "A buffer that a block writes holds its elements in a wider type.",
       {{"block", ArgKind::kBlock}, {"buffer_index", ArgKind::kInt}, {"dtype", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, WidenBuffer(call.function(), call.Id(0), IntArg(call, 1), call.String(2)));
       }},
      {"flip_sign_bit",
       "A buffer of bytes that a block writes holds those of the other sign, with the sign bit flipped.",
       {{"block", ArgKind::kBlock}, {"buffer_index", ArgKind::kInt}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, FlipSignBit(call.function(), call.Id(0), IntArg(call, 1))); }},
  };
}

std::vector<Primitive> RegionPrimitives() {
  using Role = Primitive::Role;
  return {
      {"annotate_buffer_access",
       "The region of a buffer that a block declares is given.",
       {{"block", ArgKind::kBlock},
        {"buffer_index", ArgKind::kInt},
        {"buf_type", ArgKind::kString},
        {"gen_new_ranges", ArgKind::kIndexMap}},
       ResultKind::kNone,
       Role::kTransform,
       ApplyAnnotateAccess},
      {"unsafe_hide_buffer_access",
       "A block no longer declares some of what it reads or writes.",
       {{"block", ArgKind::kBlock}, {"buf_type", ArgKind::kString}, {"buf_index_array", ArgKind::kInts}},
       ResultKind::kNone,
       Role::kTransform,
       ApplyHideAccess},
      {"decompose_padding",
       "A copy with padding becomes a fill with the padding and a copy without conditions.",
       {{"block", ArgKind::kBlock}, {"loop", ArgKind::kLoop}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, DecomposePadding(call.function(), call.Id(0), call.Id(1))); }},
  };
}

}  // namespace tilewright
