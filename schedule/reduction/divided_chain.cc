#include "schedule/reduction/divided_chain.h"

#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reducer.h"
#include "schedule/reduction/rfactor.h"

namespace tilewright {
namespace {

using Done = std::monostate;

Outcome<Done> TakeApart(const char* primitive, const OnlineBlock& block, DividedChain* divided) {
  Outcome<RfactorResult> result = Rfactor(divided->function, block.loop, -1);
  if (!result.ok()) {
    Refusal refusal = result.refusal();
    refusal.primitive = primitive;
    return refusal;
  }
  divided->function = result->function;
  divided->parts.push_back(result->block);
  return Done();
}

RunningBuffers MakeBuffers(const DividedChain& divided) {
  const Buffer& partial = cast<LoadNode>(divided.reducer.components[0].value)->buffer;
  const auto make = [&](const std::string& suffix) {
    return Buffer(divided.Reduced()->name + suffix, partial->shape, partial->dtype, partial->scope);
  };
  RunningBuffers buffers;
  if (!divided.apart) {
    buffers.before = make("_before");
    buffers.running = make("_running");
  }
  for (size_t i = 0; i < divided.chain.factors.size(); ++i) {
    const std::string number = i == 0 ? "" : "_" + std::to_string(i);
    buffers.references.push_back(make("_reference" + number));
    buffers.rescales.push_back(make("_rescale" + number));
  }
  return buffers;
}

}  // namespace

PlacedBlock Place(const Function& function, uint32_t block) {
  const Path path = FindPath(function, block);
  return {cast<BlockRealizeNode>(path.back()), LoopsAbove(path)};
}

Outcome<DividedChain> DivideChain(const char* primitive, const Function& function, OnlineChain chain, bool apart) {
  DividedChain divided{.function = function, .chain = std::move(chain), .apart = apart};
  const OnlineBlock& first = divided.chain.first;
  TW_RETURN_IF_ERROR(TakeApart(primitive, first, &divided));
  for (const OnlineBlock& block : divided.chain.others) {
    if (block.reduces) TW_RETURN_IF_ERROR(TakeApart(primitive, block, &divided));
  }
  divided.combining = Place(divided.function, first.id());
  const PlacedBlock& combining = divided.combining;
  // Its predicate may leave out rows, which all blocks do, and no part of one.
  if (UsesVar(combining.realize->predicate, combining.loops[first.outer - 1]->var)) {
    return Refusal{primitive,
                   "some iterations of {loop0} hold no term of {block1}",
                   {first.loop, first.id()},
                   {combining.realize->predicate}};
  }
  TW_ASSIGN_OR_RETURN(divided.reducer, DetectReducer(primitive, *combining.realize->block));
  divided.shared = apart ? Place(divided.function, divided.parts[0]).loops : combining.loops;
  divided.buffers = MakeBuffers(divided);
  return divided;
}

}  // namespace tilewright
