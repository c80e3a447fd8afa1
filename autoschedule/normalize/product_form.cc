#include "autoschedule/normalize/product_form.h"

#include <algorithm>
#include <vector>

#include "autoschedule/normalize/flip_rows.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "intrin/instructions.h"
#include "ir/analysis.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

// Products that are used less often than this are not computed ahead.
constexpr int64_t kLeastUses = 4;

bool IsElement(const Expr& e) {
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return IsElement(cast_node->value);
  return isa<LoadNode>(e);
}

struct Sides {
  Value::List rows, columns;  // positions of factors
  bool rows_ready = false, columns_ready = false;
};

Sides SidesOf(const std::vector<Expr>& factors, const Var& column) {
  Sides sides;
  bool elements[2] = {true, true};
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool in_columns = UsesVar(factors[i], column);
    (in_columns ? sides.columns : sides.rows).push_back(static_cast<int64_t>(i));
    elements[in_columns ? 1 : 0] &= IsElement(factors[i]);
  }
  sides.rows_ready = sides.rows.size() == 1 && elements[0];
  sides.columns_ready = sides.columns.size() == 1 && elements[1];
  return sides;
}

// How often each product of these factors is used.
int64_t Uses(const BlockNode& block, const std::vector<Expr>& factors, const Value::List& side) {
  int64_t uses = 1;
  for (const IterVar& iter : block.iter_vars) {
    const bool along = std::any_of(side.begin(), side.end(), [&](const Value& position) {
      return UsesVar(factors[static_cast<size_t>(*position.As<int64_t>())], iter.var);
    });
    if (!along) uses *= ExtentOf(iter).value_or(64);
  }
  return uses;
}

// How the target multiplies the factors of a contraction, as they are.
enum class Tiles : uint8_t {
  kNone,
  kByParts,  // of bytes, which it takes apart: where each is used often, 16 bits are faster
  kWhole,
};
Tiles TilesOf(const BlockRealizeNode& realize, const Target& target) {
  const auto contraction = MatchContraction(realize);
  if (!contraction.ok() || contraction->rows.empty()) return Tiles::kNone;
  const DataType a = contraction->row_operand->dtype, b = contraction->column_operand->dtype;
  const std::optional<TileInstruction> tile = FindTileInstruction(target, a, b, contraction->product_type);
  if (!tile) return Tiles::kNone;
  // Bytes of these types may be narrow, which is seen where they are read (codegen/lower/cpu/mask_bytes.h).
  const bool narrow = FindInstruction(target, "narrow_dot", a, b, contraction->product_type) != nullptr;
  return tile->row != nullptr && tile->row->ByParts() && !narrow ? Tiles::kByParts : Tiles::kWhole;
}

// Sums of constants are made ahead of time.
void HoistSums(Schedule& sch, BlockRv addition) {
  const Outcome<std::vector<BlockRv>> sums = sch.GetProducers(addition);
  if (!sums.ok()) return;
  for (const BlockRv& block : *sums) {
    const Schedule before = sch;
    // A refusal leaves them where they are.
    if (!sch.HoistPrepack(block).ok()) sch = before;
  }
}

// Whether the block adds up in this type.
bool AddsUpIn(const Schedule& sch, BlockRv block, DataType type) {
  const std::optional<SumForm> sum = AsSum(*RealizeOf(sch, block).block);
  return sum && sum->store->buffer->dtype == type;
}

// Splits the offsets of integer factors off, their zero points.
void SplitOffsets(Schedule& sch, BlockRv block) {
  std::optional<BlockRv> last;  // that adds the offset that was split off last
  for (bool split = true; split;) {
    split = false;
    const Block now = RealizeOf(sch, block).block;
    const std::optional<SumForm> sum = AsSum(*now);
    if (!sum || !sum->term.dtype().is_integer()) break;
    for (size_t i = 0; i < FactorsOf(sum->term).size() && !split; ++i) {
      Schedule attempt = sch;
      const Outcome<std::vector<Rv>> added = attempt.Apply("split_offset", {block, static_cast<int64_t>(i)});
      // Tiles do not add up in the other type that sums which may leave their type get.
      if (!added.ok() || !AddsUpIn(attempt, block, sum->term.dtype())) continue;
      sch = std::move(attempt);
      const BlockRv addition{(*added)[0]};
      HoistSums(sch, addition);
      // What it makes is read by the addition before, where it may be computed.
      if (last && !sch.ComputeInline(addition).ok()) return;
      if (!last) last = addition;
      split = true;
    }
  }
}

// Computes ahead what one side multiplies; whether there was such a side.
bool CacheOneSide(Schedule& sch, BlockRv block) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<SumForm> sum = AsSum(*kept);
  if (!sum || !kept->init) return false;
  const std::vector<Expr> factors = FactorsOf(sum->term);
  const Var column = LastColumn(*kept, *sum->store, factors);
  if (!column) return false;
  const Sides sides = SidesOf(factors, column);
  if (sides.rows.empty() || sides.columns.empty() || (sides.rows_ready && sides.columns_ready)) return false;
  const Value::List& side = sides.rows_ready ? sides.columns : sides.rows;
  return Uses(*kept, factors, side) >= kLeastUses && sch.Apply("cache_factors", {block, Value(side)}).ok();
}

// How often an element of each operand is used: at least.
int64_t LeastUses(const BlockNode& block, const Contraction& contraction) {
  int64_t rows = 1, columns = 1;
  for (int row : contraction.rows) rows *= ExtentOf(block.iter_vars[static_cast<size_t>(row)]).value_or(64);
  for (int column : contraction.columns) columns *= ExtentOf(block.iter_vars[static_cast<size_t>(column)]).value_or(64);
  return std::min(rows, columns);
}

// The type that factors of such types are converted to, where the target has a tile for it: that of the sum for
// floating-point numbers, 16 bits for bytes.
std::optional<DataType> ConvertedType(const Contraction& contraction, const Target& target) {
  const DataType sum = contraction.product_type, s16 = DataType::Int(16);
  if (sum.is_float()) return sum;
  for (const Buffer& operand : {contraction.row_operand, contraction.column_operand}) {
    if (!operand->dtype.is_integer() || operand->dtype.bits() != 8) return std::nullopt;
  }
  return FindTileInstruction(target, s16, s16, sum) ? std::optional(s16) : std::nullopt;
}

// Lets a contraction read copies of operands that it converts from narrower types. Whether it is one that the target
// has a tile for then.
bool ConvertOperands(Schedule& sch, BlockRv block, const Target& target) {
  const auto contraction = MatchContraction(RealizeOf(sch, block));
  if (!contraction.ok() || LeastUses(*RealizeOf(sch, block).block, *contraction) < kLeastUses) return false;
  const std::optional<DataType> type = ConvertedType(*contraction, target);
  if (!type) return false;
  const size_t operands = RealizeOf(sch, block).block->reads.size();
  for (size_t i = 0; i < operands; ++i) {
    const DataType narrow = RealizeOf(sch, block).block->reads[i].buffer->dtype;
    if (narrow.is_float() != type->is_float() || narrow.bits() >= type->bits()) continue;
    const Outcome<BlockRv> copy = sch.CacheRead(block, static_cast<int>(i), "global");
    if (!copy.ok() || !sch.WidenBuffer(*copy, 0, type->ToString()).ok()) return false;
  }
  return TilesOf(RealizeOf(sch, block), target) != Tiles::kNone;
}

}  // namespace

bool FormProducts(Schedule& sch, const std::string& function, const Target& target) {
  bool converts = false;
  const std::vector<BlockRv> children = BlocksInRoot(sch, function);
  for (const BlockRv& block : children) {
    if (!RealizeOf(sch, block).block->init) {
      // A refusal leaves the block as it is.
      if (!sch.Apply("decompose_accumulation", {block}).ok()) continue;
    }
    Schedule attempt = sch;
    if (!FlipRows(attempt, block, target) && TilesOf(RealizeOf(sch, block), target) == Tiles::kWhole) continue;
    SplitOffsets(attempt, block);
    while (CacheOneSide(attempt, block)) {
    }
    const Tiles tiles = TilesOf(RealizeOf(attempt, block), target);
    Schedule converted = attempt;
    const bool converts_block = tiles != Tiles::kWhole && ConvertOperands(converted, block, target);
    if (!converts_block && tiles == Tiles::kNone) continue;
    converts |= converts_block;
    sch = std::move(converts_block ? converted : attempt);
  }
  return converts;
}

}  // namespace tilewright
