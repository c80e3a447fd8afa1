#include "autoschedule/movement/cpu/packed_constants.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// The unpacker's last dimension, an iterator; null where it is none.
Var ColumnOf(const BlockNode& unpacker) {
  const auto* store = dyn_cast<StoreNode>(unpacker.body);
  if (store == nullptr || store->indices.empty()) return Var();
  const auto* column = dyn_cast<VarNode>(store->indices.back());
  return column == nullptr ? Var() : Var(column);
}

// One operand, whose copy at the unpacker's iterators has columns as its last dimension but for `column`.
Outcome<Done> LayOutPanels(Schedule& sch, BlockRv copy, size_t column, int width) {
  const Buffer buffer = RealizeOf(sch, copy).block->writes[0].buffer;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    inputs.emplace_back("i" + std::to_string(d));
    if (d != column) outputs.push_back(inputs.back());
  }
  outputs.insert(outputs.begin(), FloorDiv(inputs[column], width));
  outputs.push_back(FloorMod(inputs[column], width));
  const bool whole = AsInt(buffer->shape[column]).value_or(0) % width == 0;
  TW_RETURN_IF_ERROR(sch.TransformLayout(copy, Value::List{Value("write"), Value(0)},
                                         IndexMap(std::move(inputs), std::move(outputs)), whole ? Value() : Value(0)));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch.GetLoops(copy));
  if (whole) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops[column], {Value(), width}));
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(column));
    loops.insert(loops.begin(), parts[0]);
    loops.push_back(parts[1]);
    TW_RETURN_IF_ERROR(sch.Reorder(loops));
  }
  if (BytesOf(buffer) >= kManyReads / 4) TW_RETURN_IF_ERROR(sch.Parallel(loops[0]));
  return Done();
}

}  // namespace

Outcome<Done> PackInPanels(Schedule& sch, BlockRv unpacker, const Target& target) {
  const Block before = RealizeOf(sch, unpacker).block;
  const Var column = ColumnOf(*before);
  const Refusal refusal{"packed_constants", "{block0} does not read its columns in panels", {before->id}};
  if (!column) return refusal;
  const Buffer unpacked = before->writes[0].buffer;
  const int width = target.lanes(unpacked->dtype.bits());
  int64_t bytes = 0;
  for (const BufferRegion& read : before->reads) {
    TW_ASSIGN_OR_RETURN(const BlockRv copy, ReindexRead(sch, unpacker, read.buffer));
    const Buffer panels = RealizeOf(sch, copy).block->writes[0].buffer;
    bytes += BytesOf(panels);
    const BufferRegion& reads = ReadOf(*RealizeOf(sch, unpacker).block, panels);
    const Var now = ColumnOf(*RealizeOf(sch, unpacker).block);
    const auto dim = std::ranges::find_if(reads.region, [&](const Range& r) { return r.min.same_as(now); });
    if (dim != reads.region.end()) {
      TW_RETURN_IF_ERROR(LayOutPanels(sch, copy, static_cast<size_t>(dim - reads.region.begin()), width));
    }
    TW_RETURN_IF_ERROR(sch.HoistPrepack(copy));
  }
  if (2 * bytes > BytesOf(unpacked)) return refusal;
  return Done();
}

int64_t ElementsOfByte(const std::vector<int64_t>& depth_factors) {
  const bool bytes = depth_factors.size() > 1 && depth_factors.back() <= DataType::UInt(8).bits();
  return bytes ? depth_factors.back() : 1;
}

std::vector<int64_t> DepthFactors(const Schedule& sch, BlockRv unpacker, int64_t depth) {
  const BlockNode& block = *RealizeOf(sch, unpacker).block;
  const Var column = ColumnOf(block);
  std::vector<int64_t> factors;
  for (const IterVar& iter : block.iter_vars) {
    if (!iter.var.same_as(column)) factors.push_back(ExtentOf(iter).value_or(0));
  }
  const int64_t product = std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
  return product == depth ? factors : std::vector<int64_t>{depth};
}

Outcome<Done> UnpackInLoop(Schedule& sch, BlockRv stage, LoopRv panel_loop, const std::vector<int64_t>& depth_factors,
                           const Target& target) {
  TW_RETURN_IF_ERROR(sch.ComputeAt(stage, panel_loop));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, stage, panel_loop));
  const int64_t depth = std::accumulate(depth_factors.begin(), depth_factors.end(), int64_t{1}, std::multiplies<>());
  const int lanes = target.lanes(RealizeOf(sch, stage).block->writes[0].buffer->dtype.bits());
  const auto along = std::ranges::find_if(loops, [&](const LoopRv& loop) { return ExtentOf(sch, loop) == depth; });
  if (loops.size() != 2 || along == loops.end() || ExtentOf(sch, loops.back()).value_or(1) % lanes != 0) {
    return Refusal{"unpack_in_loop", "{block0} does not unpack whole vectors", {RealizeOf(sch, stage).block->id}};
  }
  const LoopRv columns = along == loops.begin() ? loops[1] : loops[0];
  std::vector<Value> factors = {Value()};
  for (size_t i = 1; i < depth_factors.size(); ++i) factors.emplace_back(depth_factors[i]);
  std::vector<LoopRv> order = {*along};
  if (factors.size() > 1) {
    TW_ASSIGN_OR_RETURN(order, sch.Split(*along, factors));
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> vectors, sch.Split(columns, {Value(), lanes}));
  order.insert(order.end(), vectors.begin(), vectors.end());
  // The elements of a byte after each other, of one vector of bytes.
  const bool bytes = ElementsOfByte(depth_factors) > 1;
  if (bytes) std::swap(order[order.size() - 2], order[order.size() - 3]);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_RETURN_IF_ERROR(sch.Vectorize(vectors[1]));
  if (bytes) TW_RETURN_IF_ERROR(sch.Unroll(order[order.size() - 2]));
  return Done();
}

}  // namespace tilewright
