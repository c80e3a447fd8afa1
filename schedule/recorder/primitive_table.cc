#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

const std::vector<Primitive>& Table() {
  static const std::vector<Primitive>* const table = [] {
    auto* all = new std::vector<Primitive>;
    for (auto list : {QueryPrimitives, SamplingPrimitives, LoopPrimitives, LoopKindPrimitives, MovementPrimitives,
                      PaddingPrimitives, LayoutPrimitives, SumPrimitives, InlinePrimitives, CachePrimitives,
                      BufferPrimitives, RegionPrimitives, ReductionPrimitives, BlockPrimitives}) {
      std::ranges::move(list(), std::back_inserter(*all));
    }
    return all;
  }();
  return *table;
}

}  // namespace

std::span<const Primitive> AllPrimitives() { return Table(); }

const Primitive* FindPrimitive(std::string_view name) {
  static const auto& by_name = *[] {
    auto* index = new std::unordered_map<std::string_view, const Primitive*>();
    for (const Primitive& primitive : Table()) index->emplace(primitive.name, &primitive);
    index->emplace("get_sblock", index->at("get_block"));
    return index;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace tilewright
