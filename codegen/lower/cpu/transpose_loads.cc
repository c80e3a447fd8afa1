#include "codegen/lower/cpu/transpose_loads.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower/common/split_constant.h"
#include "codegen/lower/cpu/store_runs.h"
#include "codegen/lower/cpu/vector_lanes.h"
#include "ir/arith/analyzer.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/lane_runs.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Least bits of a part. Combining shorter parts takes more instructions than loading lanes one by one.
constexpr int kLeastPartBits = 32;

// Columns that begin side by side: at `rest` plus a constant, by that constant. `rest` is null where it is 0.
struct Columns {
  const LoadNode* first = nullptr;
  Expr rest, stride;
  int64_t rows = 0;  // lanes that are loaded
  std::map<int64_t, std::vector<const LoadNode*>> by_offset;
};

bool Same(const Expr& a, const Expr& b) { return a && b ? StructuralEqual(a, b) : !a && !b; }

class ColumnFinder : public UnguardedLoads {
 public:
  std::vector<Columns>& columns() { return columns_; }

 protected:
  void AddLoad(const LoadNode* op) override {
    const auto* ramp = op->indices.size() == 1 ? dyn_cast<RampNode>(op->indices[0]) : nullptr;
    if (ramp == nullptr || IsInt(ramp->stride, 1)) return;
    if (!op->buffer->dtype.is_scalar() || op->buffer->scope.kind() == MemoryKind::kRegister) return;
    int64_t rows = op->dtype().lanes();
    if (op->predicate) {
      const Expr first_lanes = FirstLanes(op->predicate);
      const std::optional<int64_t> count = first_lanes ? AsInt(first_lanes) : std::nullopt;
      if (!count || *count < 1) return;
      rows = std::min(rows, *count);
    }
    const auto [rest, offset] = SplitConstant(ramp->base);
    for (Columns& other : columns_) {
      if (other.first->dtype() != op->dtype() || !other.first->buffer.same_as(op->buffer) || other.rows != rows ||
          !Same(other.rest, rest) || !Same(other.stride, ramp->stride)) {
        continue;
      }
      other.by_offset[offset].push_back(op);
      return;
    }
    columns_.push_back({op, rest, ramp->stride, rows, {{offset, {op}}}});
  }

 private:
  std::vector<Columns> columns_;
};

// The columns of one transposition, as variables in the order of their definition; the last ones are the columns.
struct Tile {
  std::vector<std::pair<Var, Expr>> values;
  bool defined = false;
};

// A load and its replacement.
struct Replacement {
  Expr value;
  size_t tile = 0;
};

class Transposer {
 public:
  explicit Transposer(const Columns& columns) : columns_(columns), lanes_(columns.first->dtype().lanes()) {}

  // Makes tiles of all sets of adjacent columns that are large enough.
  void Append(std::vector<Tile>& tiles, std::map<const ExprNode*, Replacement>& replacements) {
    auto begin = columns_.by_offset.begin();
    while (begin != columns_.by_offset.end()) {
      auto end = begin;
      int64_t count = 0;
      for (; end != columns_.by_offset.end() && end->first == begin->first + count; ++end) ++count;
      AppendRun(begin->first, count, tiles, replacements);
      begin = end;
    }
  }

 private:
  // The elements of a part: as many as columns allow.
  int64_t PartOf(int64_t count) const {
    const int bits = columns_.first->buffer->dtype.bits();
    const auto most = static_cast<uint64_t>(std::min<int64_t>({count, lanes_, kTransposedBits / bits}));
    const auto part = static_cast<int64_t>(std::bit_floor(most));
    return part * bits >= kLeastPartBits && lanes_ % part == 0 ? part : 1;
  }

  void AppendRun(int64_t first, int64_t count, std::vector<Tile>& tiles,
                 std::map<const ExprNode*, Replacement>& replacements) {
    const std::optional<int64_t> stride = AsInt(columns_.stride);
    const bool near = stride && 0 < *stride && *stride <= kLongestStride &&
                      *stride * columns_.first->buffer->dtype.bits() < kTransposedBits;
    if (near && columns_.rows != lanes_) return;
    const int64_t part = near ? *stride : PartOf(count);
    if (part < 2) return;
    for (int64_t done = 0; done < count; done += part) {
      const int64_t begin = std::min(done, count - part);
      // Leftovers of rows with a short pitch are loaded in runs (load_runs.h).
      if (begin < 0 || (near && begin < done)) return;
      Tile tile;
      const std::vector<Expr> made = near ? TakeApart(first + begin, part, tile) : Transpose(first + begin, part, tile);
      for (int64_t column = done; column < std::min(done + part, count); ++column) {
        for (const LoadNode* load : columns_.by_offset.at(first + column)) {
          replacements[load] = {made[static_cast<size_t>(column - begin)], tiles.size()};
        }
      }
      tiles.push_back(std::move(tile));
    }
  }

  // Columns that together hold all elements of an equal number of vectors.
  std::vector<Expr> TakeApart(int64_t offset, int64_t stride, Tile& tile) {
    std::vector<Expr> vectors, columns;
    for (int64_t v = 0; v < stride; ++v) {
      vectors.emplace_back(Define("rows", LoadPart(0, offset + v * lanes_, lanes_), tile));
    }
    for (int64_t column = 0; column < stride; ++column) {
      std::vector<int> picked;
      for (int64_t lane = 0; lane < lanes_; ++lane) picked.push_back(static_cast<int>(column + lane * stride));
      columns.push_back(PickLanes(vectors, std::move(picked)));
    }
    return AsLoaded(std::move(columns));
  }

  // Converts moved integers back to the type of the columns.
  std::vector<Expr> AsLoaded(std::vector<Expr> vectors) const {
    const DataType type = columns_.first->dtype();
    if (vectors[0].dtype() == type) return vectors;
    for (Expr& vector : vectors) vector = Call(type, "reinterpret", {vector});
    return vectors;
  }

  Var Define(const char* name, Expr value, Tile& tile) {
    Var var(name, value.dtype());
    tile.values.emplace_back(var, std::move(value));
    return var;
  }

  // Floats that are computed in another type than they have in memory are moved as integers.
  DataType Moved() const {
    const DataType type = columns_.first->buffer->dtype;
    return type.is_float() && type.bits() < 32 ? DataType::UInt(type.bits()) : type;
  }

  // Register r begins with row r, `part` elements of it; its next part is of row r + part.
  std::vector<Expr> Transpose(int64_t offset, int64_t part, Tile& tile) {
    std::vector<Expr> vectors;
    for (int64_t r = 0; r < part; ++r) {
      std::vector<Expr> parts;
      for (int64_t row = r; row < lanes_; row += part) parts.push_back(LoadPart(row, offset, part));
      vectors.emplace_back(Define("rows", JoinVectors(std::move(parts)), tile));
    }
    for (int64_t step = 1; step < part; step *= 2) {
      std::vector<Expr> interleaved;
      for (size_t k = 0; k < vectors.size() / 2; ++k) {
        const Expr &low = vectors[k], &high = vectors[k + vectors.size() / 2];
        for (const int64_t half : {int64_t{0}, part / 2}) {
          interleaved.emplace_back(Define("pairs", Interleave(low, high, half, part), tile));
        }
      }
      vectors = std::move(interleaved);
    }
    return AsLoaded(std::move(vectors));
  }

  Expr LoadPart(int64_t row, int64_t offset, int64_t part) const {
    const DataType index_type = columns_.stride.dtype();
    const Expr rest = columns_.rest ? columns_.rest : Const(index_type, 0);
    const Expr begin = arith::Simplify(rest + columns_.stride * Const(index_type, std::min(row, columns_.rows - 1)) +
                                       Const(index_type, offset));
    Expr load = columns_.first->buffer.Load({Ramp(begin, Const(index_type, 1), static_cast<int>(part))});
    const DataType moved = Moved().with_lanes(static_cast<int>(part));
    return load.dtype() == moved ? load : Call(moved, "reinterpret", {load});
  }

  // Half of the elements of each part, from `half` on, of both vectors in turn.
  Expr Interleave(const Expr& low, const Expr& high, int64_t half, int64_t part) const {
    std::vector<int> picked;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const int64_t in_part = lane % part;
      const int64_t from = lane - in_part + half + in_part / 2 + (in_part % 2 == 0 ? 0 : lanes_);
      picked.push_back(static_cast<int>(from));
    }
    return PickLanes({low, high}, std::move(picked));
  }

  const Columns& columns_;
  const int64_t lanes_;
};

// Stores whose values are made of what a tile defines.
class Replacer : public Mutator {
 public:
  Replacer(const std::map<const ExprNode*, Replacement>& replacements, std::vector<size_t>& used)
      : replacements_(replacements), used_(used) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override {
    const auto found = replacements_.find(e.get());
    if (found == replacements_.end()) return Mutator::Mutate(e);
    used_.push_back(found->second.tile);
    return found->second.value;
  }

 private:
  const std::map<const ExprNode*, Replacement>& replacements_;
  std::vector<size_t>& used_;
};

class RunTransposer : public StoreRunMutator {
 protected:
  bool ChangeRun(std::vector<Stmt>& run) override {
    ColumnFinder finder;
    for (const Stmt& s : run) finder.Visit(cast<StoreNode>(s)->value);
    if (finder.columns().empty() || !finder.only_reads()) return false;
    const Stmt whole = Sequence(run);
    std::vector<Tile> tiles;
    std::map<const ExprNode*, Replacement> replacements;
    for (const Columns& columns : finder.columns()) {
      if (!MayChange(Expr(columns.first), whole)) Transposer(columns).Append(tiles, replacements);
    }
    if (replacements.empty()) return false;
    run = {DefineWhereUsed(run, tiles, replacements)};
    return true;
  }

 private:
  // Tiles are defined right before the first store that uses them.
  static Stmt DefineWhereUsed(const std::vector<Stmt>& run, std::vector<Tile>& tiles,
                              const std::map<const ExprNode*, Replacement>& replacements) {
    std::vector<size_t> used;
    Replacer replacer(replacements, used);
    std::vector<std::pair<std::vector<std::pair<Var, Expr>>, std::vector<Stmt>>> sections(1);
    for (const Stmt& s : run) {
      used.clear();
      const Stmt store = replacer.Mutate(s);
      std::vector<std::pair<Var, Expr>> values;
      for (const size_t tile : used) {
        if (std::exchange(tiles[tile].defined, true)) continue;
        values.insert(values.end(), tiles[tile].values.begin(), tiles[tile].values.end());
      }
      if (!values.empty()) sections.emplace_back(std::move(values), std::vector<Stmt>());
      sections.back().second.push_back(store);
    }
    Stmt result;
    for (auto section = sections.rbegin(); section != sections.rend(); ++section) {
      std::vector<Stmt> stmts = std::move(section->second);
      if (result) stmts.push_back(result);
      if (stmts.empty()) continue;
      result = Sequence(std::move(stmts));
      for (auto value = section->first.rbegin(); value != section->first.rend(); ++value) {
        result = LetStmt(value->first, value->second, result);
      }
    }
    return result;
  }
};

}  // namespace

Function TransposeLoads(const Function& function) {
  return function.WithBody(RunTransposer().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
