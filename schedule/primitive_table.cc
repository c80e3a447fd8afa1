#include <algorithm>
#include <iterator>

#include "schedule/primitive_lists.h"

namespace tilewright {
namespace {

const std::vector<Primitive>& Table() {
  static const std::vector<Primitive>* const table = [] {
    auto* all = new std::vector<Primitive>;
    for (auto list : {QueryPrimitives, SamplingPrimitives, LoopPrimitives, MovementPrimitives, LayoutPrimitives,
                      ReductionPrimitives, BlockPrimitives}) {
      std::ranges::move(list(), std::back_inserter(*all));
    }
    return all;
  }();
  return *table;
}

}  // namespace

std::span<const Primitive> AllPrimitives() { return Table(); }

const Primitive* FindPrimitive(std::string_view name) {
  if (name == "get_sblock") name = "get_block";
  for (const Primitive& primitive : Table()) {
    if (primitive.name == name) return &primitive;
  }
  return nullptr;
}

}  // namespace tilewright
