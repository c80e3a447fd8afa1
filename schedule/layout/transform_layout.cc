#include "schedule/layout/transform_layout.h"

#include <numeric>

#include "base/math.h"
#include "base/status_macros.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/layout/layout_rewriter.h"
#include "schedule/layout/padded_writer.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"

namespace tilewright {
namespace {

constexpr const char* kName = "transform_layout";

std::optional<Refusal> WhyNotTransformable(const Function& function, uint32_t block, const Buffer& buffer,
                                           const IndexMap& map) {
  if (map->inputs.size() != buffer->ndim()) {
    return Refusal{kName,          "the map takes {num0} indices, {text0} has {num1} dimensions",
                   {block},        {},
                   {buffer->name}, {static_cast<int64_t>(map->inputs.size()), static_cast<int64_t>(buffer->ndim())}};
  }
  if (!buffer->strides.empty() || buffer->layout) {
    return Refusal{kName, "{text0} has strides or a layout of its own", {block}, {}, {buffer->name}};
  }
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.allocated_by == nullptr && !uses.is_param) {
    return Refusal{kName, "{text0}, which {block0} accesses, is a part of another buffer", {block}, {}, {buffer->name}};
  }
  if (uses.addressed_by != nullptr) {
    return Refusal{kName, "{block0} takes the address of {text0}", {uses.addressed_by->id}, {}, {buffer->name}};
  }
  return std::nullopt;
}

// The map for indices of the types of the shape: maps are written for 32 bits.
IndexMap WithTypesOf(const IndexMap& map, const std::vector<Expr>& shape) {
  std::vector<Var> inputs;
  for (size_t d = 0; d < shape.size(); ++d) inputs.emplace_back(map->inputs[d].name(), shape[d].dtype());
  return IndexMap(inputs, map.Apply({inputs.begin(), inputs.end()}));
}

// For each dimension, the least common multiple of the constants that its index is divided by.
std::vector<int64_t> TileSizes(const IndexMap& map, const std::vector<Expr>& shape) {
  std::vector<int64_t> multiples(shape.size(), 1);
  for (const Expr& output : map->outputs) {
    PreOrder(output, [&](const Expr& e) {
      const auto* op = dyn_cast<BinaryNode>(e);
      if (op == nullptr || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return true;
      const std::optional<int64_t> tile = AsInt(op->b);
      for (size_t d = 0; d < shape.size() && tile && *tile > 0; ++d) {
        if (op->a.get() == map->inputs[d].get()) multiples[d] = std::lcm(multiples[d], *tile);
      }
      return true;
    });
  }
  return multiples;
}

// The shape with each extent rounded up to a multiple of its tile: tiles are whole, also where the shape is smaller
// than one tile.
std::vector<Expr> RoundToTiles(const std::vector<int64_t>& tiles, const std::vector<Expr>& shape) {
  std::vector<Expr> rounded = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::optional<int64_t> extent = AsInt(shape[d]);
    if (extent) rounded[d] = Const(shape[d].dtype(), RoundUp(*extent, tiles[d]));
  }
  return rounded;
}

// The condition under which `index`, which runs to the next multiple of `tile` behind `extent`, is not less than it: in
// the last tile, behind the last element. As TVM writes it; of i // 4 and i % 4 that becomes v_axis0 == 3 and 2 <=
// v_axis1.
Expr BehindTheLast(const Expr& index, const Expr& extent, int64_t tile) {
  const std::optional<int64_t> end = AsInt(extent);
  if (!end) return extent <= index;
  const auto constant = [&](int64_t value) { return Const(index.dtype(), value); };
  return And(FloorDiv(index, constant(tile)) == constant(*end / tile),
             constant(*end % tile) <= FloorMod(index, constant(tile)));
}

struct TiledInverse {
  arith::PaddedInverse inverse;
  Expr padding;  // that of `inverse`, in the words of a refusal
};

std::optional<TiledInverse> InverseWithFullTiles(const IndexMap& map, const std::vector<Expr>& shape,
                                                 arith::Analyzer* analyzer) {
  const std::vector<int64_t> tiles = TileSizes(map, shape);
  const std::vector<Expr> rounded = RoundToTiles(tiles, shape);
  std::optional<arith::PaddedInverse> result = arith::PaddedInverseIndexMap(map, rounded, analyzer);
  if (!result) return std::nullopt;
  const auto add = [](const Expr& more, Expr* padding) { *padding = IsFalse(*padding) ? more : Or(*padding, more); };
  Expr padding = result->padding;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (analyzer->CanProveEqual(rounded[d], shape[d])) continue;
    const Expr& index = result->inverse->outputs[d];
    add(shape[d] <= index, &padding);
    add(BehindTheLast(index, shape[d], tiles[d]), &result->padding);
  }
  return TiledInverse{*std::move(result), std::move(padding)};
}

// The pad value's type and contents.
std::optional<Refusal> WhyNotPadValue(uint32_t block, const Buffer& buffer, const IndexMap& pad_value, size_t rank) {
  if (pad_value->outputs.size() != 1 || pad_value->inputs.size() != rank) {
    return Refusal{
        kName, "pad_value must take {num0} indices and give one value", {block}, {}, {}, {static_cast<int64_t>(rank)}};
  }
  const Expr& value = pad_value->outputs[0];
  bool loads = false;
  PreOrder(value, [&](const Expr& e) {
    loads |= isa<LoadNode>(e);
    return true;
  });
  if (loads) return Refusal{kName, "pad_value {expr0} loads from a buffer", {block}, {value}};
  if (value.dtype() != buffer->dtype) {
    return Refusal{kName, "pad_value {expr0} does not have the type of {text0}", {block}, {value}, {buffer->name}};
  }
  return std::nullopt;
}

}  // namespace

Outcome<TransformLayoutResult> TransformLayout(const Function& function, uint32_t block_id,
                                               const BufferSelector& selector, const IndexMap& untyped,
                                               const IndexMap& pad_value, Padding padding) {
  TW_ASSIGN_OR_RETURN(Path path, PathToBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(SelectedRegion selected,
                      SelectRegion(kName, *cast<BlockRealizeNode>(path.back())->block, selector));
  const Buffer& buffer = selected.region.buffer;
  if (auto refusal = WhyNotTransformable(function, block_id, buffer, untyped)) return *refusal;
  const IndexMap map = WithTypesOf(untyped, buffer->shape);

  arith::Analyzer analyzer;
  const std::optional<TiledInverse> tiled = InverseWithFullTiles(map, buffer->shape, &analyzer);
  if (!tiled) {
    return Refusal{kName,
                   "the map is not known to give each element of {text0} a place of its own",
                   {block_id},
                   {},
                   {buffer->name}};
  }
  BufferNode::Fields fields = buffer->fields();
  fields.shape = tiled->inverse.shape;
  fields.data = Var();
  const LayoutChange change{buffer, Buffer(std::move(fields)), map};

  Function padded = function;
  const bool pads = !IsFalse(tiled->padding);
  if (pads && (pad_value || padding == Padding::kRefused)) {
    if (!pad_value) {
      return Refusal{kName,
                     "the map pads {text0} where {expr0}, and there is no pad_value",
                     {block_id},
                     {tiled->padding},
                     {buffer->name}};
    }
    if (auto refusal = WhyNotPadValue(block_id, buffer, pad_value, tiled->inverse.shape.size())) return *refusal;
    TW_ASSIGN_OR_RETURN(Function writer, WriteWithPadding(kName, function, change, tiled->inverse, pad_value));
    padded = writer;
  }
  TW_ASSIGN_OR_RETURN(Function changed, ChangeLayout(kName, padded, change));
  return TransformLayoutResult{std::move(changed)};
}

}  // namespace tilewright
