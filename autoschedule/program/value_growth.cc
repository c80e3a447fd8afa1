#include "autoschedule/program/value_growth.h"

#include "ir/functor.h"

namespace tilewright {

namespace {

constexpr int64_t kMostOperations = 128;
// What is computed once, ahead of time, only has to stay short enough to be rewritten.
constexpr int64_t kMostOperationsAhead = 16384;

}  // namespace

int64_t OperationsOf(const BlockNode& block) {
  int64_t count = 0;
  PreOrderExprs(block.body, [&](const Expr& e) {
    count += isa<BinaryNode>(e) || isa<CallNode>(e) || isa<SelectNode>(e) || isa<CastNode>(e);
    return !isa<LoadNode>(e);
  });
  return count;
}

int64_t UsesOf(const BlockNode& producer, const BlockNode& consumer) {
  int64_t count = 0;
  PreOrderExprs(consumer.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    count += load != nullptr && load->buffer.same_as(producer.writes[0].buffer);
    return true;
  });
  return count;
}

bool GrowsTooLong(const BlockNode& producer, const BlockNode& consumer, bool ahead_of_time) {
  const int64_t most = ahead_of_time ? kMostOperationsAhead : kMostOperations;
  return UsesOf(producer, consumer) * OperationsOf(producer) + OperationsOf(consumer) > most;
}

}  // namespace tilewright
