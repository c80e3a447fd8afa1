#include "schedule/program/reducer.h"

#include <utility>

namespace tilewright {

Outcome<Reducer> DetectReducer(const char* primitive, const BlockNode& block) {
  std::variant<Reducer, NoReducer> detected = DetectReducer(block);
  if (auto* reducer = std::get_if<Reducer>(&detected)) return std::move(*reducer);
  const NoReducer& problem = std::get<NoReducer>(detected);
  switch (problem.reason) {
    case NoReducer::kBody:
      return Refusal{primitive, "the body of {block0} is not one store to each of its outputs", {block.id}};
    case NoReducer::kInit:
      return Refusal{primitive, "the init of {block0} is not one store to each of its outputs", {block.id}};
    case NoReducer::kInitElement:
      return Refusal{primitive,
                     "the init of {block0} does not store to the element of {text0} that the body stores to",
                     {block.id},
                     {},
                     {problem.buffer}};
    case NoReducer::kReadsOthers:
      return Refusal{primitive,
                     "{block0} combines {expr0} into {text0} and reads other elements of its outputs",
                     {block.id},
                     {problem.value},
                     {problem.buffer}};
    default:
      return Refusal{primitive,
                     "{expr0}, which {block0} stores to {text0}, is not a reduction that can be taken apart",
                     {block.id},
                     {problem.value},
                     {problem.buffer}};
  }
}

}  // namespace tilewright
