#include "autoschedule/normalize/inline_rule.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/unpacked_constants.h"
#include "autoschedule/program/value_growth.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

namespace {

// Elements that a factor of products is computed from at most, each time.
constexpr int64_t kMostElements = 3;

// One cheap instruction, or none.
bool IsBitOperation(std::string_view op) {
  return op == "reinterpret" || op == kFlipSignBit || op.starts_with("bitwise_") || op.starts_with("shift_");
}

}  // namespace

bool IsDear(const BlockNode& block) {
  bool dear = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    const auto* binary = dyn_cast<BinaryNode>(e);
    dear |= call != nullptr && call->op != kIfThenElse && !IsBitOperation(call->op);
    dear |= binary != nullptr && binary->op == BinaryOp::kDiv && binary->dtype().is_float();
    return !dear;
  });
  return dear;
}

namespace {

int64_t Product(const std::vector<Expr>& extents) {
  int64_t product = 1;
  for (const Expr& extent : extents) product *= AsInt(extent).value_or(1);
  return product;
}

// Places at which a block loads elements of a buffer, or of any if it is null.
int64_t PlacesOf(const BlockNode& block, const Buffer& buffer) {
  std::vector<Expr> places;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || (buffer && !load->buffer.same_as(buffer))) return true;
    if (std::ranges::none_of(places, [&](const Expr& other) { return StructuralEqual(other, e); })) places.push_back(e);
    return true;
  });
  return static_cast<int64_t>(places.size());
}

}  // namespace

bool UsesElementsAgain(const BlockNode& consumer, const Buffer& buffer) {
  std::vector<Expr> extents;
  for (const IterVar& iter : consumer.iter_vars) extents.push_back(iter.domain.extent);
  return Product(extents) * PlacesOf(consumer, buffer) > Product(buffer->shape);
}

namespace {

// Operations of a value that is computed once more for each of its uses in one element.
constexpr int64_t kMostAgain = 4;
// Whether the value would be computed again and again in one element, as in a chain of squares, or get too long.
bool GrowsTooMuch(const BlockNode& block, const BlockNode& consumer) {
  return (UsesOf(block, consumer) > 1 && OperationsOf(block) > kMostAgain) || GrowsTooLong(block, consumer);
}

// Whether a product computes the block as its epilogue: it alone reads the product. With several readers of its own it
// would be computed in each of them, from a product that no longer has an epilogue.
bool IsEpilogue(const BlockScope& scope, const ScopeChild& child) {
  const std::vector<uint32_t> producers = scope.Producers(child.id());
  return std::ranges::any_of(producers, [&](uint32_t id) {
    return scope.Consumers(id).size() == 1 && MatchContraction(*scope.Find(id)->realize).ok();
  });
}

// Whether the consumer reads the buffer at places that it loads or makes of floats: gathers, samples of images.
bool ReadsAtComputedPlaces(const BlockNode& consumer, const Buffer& buffer) {
  bool found = false;
  PreOrderExprs(consumer.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || !load->buffer.same_as(buffer)) return true;
    for (const Expr& index : load->indices) {
      PreOrder(index, [&](const Expr& part) {
        found |= isa<LoadNode>(part) || part.dtype().is_float();
        return !found;
      });
    }
    return true;
  });
  return found;
}

// Whether every instance of the consumer uses an element of its own: what a matrix that meets one vector is read from.
bool UsesElementsOnce(const BlockNode& consumer, const Buffer& buffer) {
  const bool constant =
      std::ranges::all_of(consumer.iter_vars, [](const IterVar& iter) { return ExtentOf(iter).has_value(); });
  return constant && !UsesElementsAgain(consumer, buffer);
}

// Whether the block unpacks constants for a single matrix product, or for one of bytes.
bool IsUnpacker(const Function& function, const BlockScope& scope, const ScopeChild& child) {
  const std::vector<uint32_t> consumers = scope.Consumers(child.id());
  if (consumers.size() != 1 || !UnpacksConstants(function, *child.realize->block)) return false;
  const absl::StatusOr<Contraction> product = MatchContraction(*scope.Find(consumers[0])->realize);
  const Buffer& unpacked = child.realize->block->writes[0].buffer;
  return product.ok() && product->column_operand.same_as(unpacked) &&
         (IsMatrixProduct(*product) || !unpacked->dtype.is_float());
}

bool IsWorthInlining(const BlockScope& scope, const ScopeChild& child) {
  const BlockNode& block = *child.realize->block;
  if (block.init || !isa<StoreNode>(block.body) || block.writes.size() != 1) return false;
  const std::vector<uint32_t> consumers = scope.Consumers(child.id());
  const bool dear = IsDear(block);
  bool again = consumers.size() > 1;
  if (again && IsEpilogue(scope, child)) return false;
  for (uint32_t id : consumers) {
    const BlockNode& consumer = *scope.Find(id)->realize->block;
    const bool again_here = UsesElementsAgain(consumer, block.writes[0].buffer);
    again |= again_here;
    if (again_here && ReadsAtComputedPlaces(consumer, block.writes[0].buffer)) return false;
    const bool product = consumer.init && consumer.reads.size() > 1;
    if (product && !UsesElementsOnce(consumer, block.writes[0].buffer)) return false;
    if (GrowsTooMuch(block, consumer)) return false;
  }
  return !dear || !again;
}

const BlockRealizeNode* RootOf(const Schedule& sch, const std::string& function) {
  return dyn_cast<BlockRealizeNode>(sch.module().Find(function)->body);
}

}  // namespace

bool CombinesElements(const BlockNode& block) { return PlacesOf(block, {}) > kMostElements; }

void InlineElementwise(Schedule& sch, const std::string& function, bool keeps_unpackers) {
  std::vector<uint32_t> ids;
  for (const BlockRv& block : BlocksInRoot(sch, function)) {
    const BlockScope scope = BlockScope::Of(RootOf(sch, function)->block.get());
    const ScopeChild* child = scope.Find(sch.Get(block).As<BlockRef>()->id);
    if (child == nullptr || !IsSerial(*child) || !IsWorthInlining(scope, *child)) continue;
    if (keeps_unpackers && IsUnpacker(sch.module().Find(function), scope, *child)) continue;
    // A refusal leaves the block where it is.
    if (const auto inlined = sch.ComputeInline(block); !inlined.ok()) continue;
  }
}

}  // namespace tilewright
