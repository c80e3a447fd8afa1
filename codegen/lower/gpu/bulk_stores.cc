#include "codegen/lower/gpu/bulk_stores.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/bulk_boxes.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/first_threads_nest.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/threaded_mutator.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/builtin.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// What the engine writes: an array, or one that is looked at as a matrix. By dimension, outermost first.
struct Destination {
  std::vector<Expr> shape, strides, first;  // strides in elements; where the box begins
  std::vector<int64_t> box;
};

class StoreMaker : public ThreadedMutator {
 public:
  using ThreadedMutator::Mutate;
  StoreMaker(uint32_t next_id, const GpuTarget& gpu) : next_id_(next_id), gpu_(gpu) {}
  uint32_t next_id() const { return next_id_; }

  Stmt Mutate(const Stmt& s) override {
    if (s && !threads_.empty() && !of_some_ && (isa<ForNode>(s) || isa<IfNode>(s))) {
      if (Stmt made = Make(s)) return made;
      const Stmt nest = FirstThreadsNest(s, threads_);
      if (Stmt made = nest ? Make(nest) : Stmt()) return made;
    }
    return ThreadedMutator::Mutate(s);
  }

 protected:
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    return IsInstruction(self) ? self : ThreadedMutator::MutateAttrStmt(op, self);
  }
  // Below, not all threads may be there.
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    const bool divides = std::ranges::any_of(
        threads_, [&](const ForNode* loop) { return UsesVar(op->condition, loop->var) && !IsInt(loop->extent, 1); });
    const bool outer = std::exchange(of_some_, of_some_ || divides);
    Stmt result = ThreadedMutator::MutateIf(op, self);
    of_some_ = outer;
    return result;
  }

 private:
  // The index without the loop, which it has to run along by itself; null otherwise.
  Expr FirstOf(const Expr& index, const ForNode* loop, const BoxNest& nest) {
    const Expr first = loop == nullptr ? index : analyzer_.Simplify(index - CastTo(index.dtype(), loop->var));
    return nest.UsesLoops(first) ? Expr() : first;
  }

  // Whether the loops run along the two last dimensions of what is stored, from its first row and column on.
  bool ReadsTile(const BoxNest& nest) {
    const std::vector<Expr>& indices = nest.load->indices;
    const size_t rank = indices.size();
    if (rank < 2 || nest.loops.size() != 2) return false;
    for (size_t d = 0; d < rank; ++d) {
      const ForNode* loop = d + 2 < rank ? nullptr : nest.loops[d + 2 - rank];
      const Expr first = FirstOf(indices[d], loop, nest);
      if (!first || (loop != nullptr && !IsInt(first, 0))) return false;
    }
    return true;
  }

  // Each loop runs along one dimension of the array.
  std::optional<Destination> OfDimensions(const BoxNest& nest) {
    const Buffer& buffer = nest.store->buffer;
    const size_t rank = buffer->ndim();
    if (rank > static_cast<size_t>(gpu_.max_map_rank)) return std::nullopt;
    Destination to{.shape = buffer->shape, .strides = ElementStrides(buffer, &analyzer_), .first = {}, .box = {}};
    size_t found = 0;
    for (size_t d = 0; d < rank; ++d) {
      const Expr& index = nest.store->indices[d];
      const auto along = std::ranges::find_if(nest.loops, [&](const ForNode* l) { return UsesVar(index, l->var); });
      const ForNode* loop = along == nest.loops.end() ? nullptr : *along;
      if ((d + 1 == rank) != (loop == nest.loops.back())) return std::nullopt;
      found += loop != nullptr ? 1 : 0;
      to.first.push_back(FirstOf(index, loop, nest));
      if (!to.first.back()) return std::nullopt;
      to.box.push_back(loop == nullptr ? 1 : *AsInt(loop->extent));
    }
    return found == nest.loops.size() ? std::optional(std::move(to)) : std::nullopt;
  }

  // Rows at equal distances are those of a matrix.
  std::optional<Destination> OfMatrix(const BoxNest& nest) {
    const Buffer& buffer = nest.store->buffer;
    if (!buffer->strides.empty()) return std::nullopt;
    const std::vector<Expr> strides = ElementStrides(buffer, &analyzer_);
    const DataType wide = DataType::Int(64);
    Expr element = Const(wide, 0), elements = Const(wide, 1);
    for (size_t d = 0; d < buffer->ndim(); ++d) {
      element = element + CastTo(wide, nest.store->indices[d]) * CastTo(wide, strides[d]);
      elements = elements * CastTo(wide, buffer->shape[d]);
    }
    element = analyzer_.Simplify(element);
    const std::optional<int64_t> count = AsInt(analyzer_.Simplify(elements));
    const Var &row = nest.loops[0]->var, &column = nest.loops[1]->var;
    const auto at = [&](int64_t i, int64_t j) {
      return Substitute(element, {{row, Const(row.dtype(), i)}, {column, Const(column.dtype(), j)}});
    };
    const Expr first = analyzer_.Simplify(at(0, 0));
    const std::optional<int64_t> distance = AsInt(analyzer_.Simplify(at(1, 0) - first));
    if (!count || !distance || *distance <= 0 || *count % *distance != 0) return std::nullopt;
    const Expr stride = Const(wide, *distance), rest = element - CastTo(wide, row) * stride - CastTo(wide, column);
    if (!analyzer_.CanProveEqual(rest, first)) return std::nullopt;
    Destination to{.shape = {Const(wide, *count / *distance), stride},
                   .strides = {stride, Const(wide, 1)},
                   .first = {analyzer_.Simplify(FloorDiv(first, stride)), analyzer_.Simplify(FloorMod(first, stride))},
                   .box = {nest.rows(), nest.columns()}};
    return StaysInside(nest, to) ? std::optional(std::move(to)) : std::nullopt;
  }
  // What is stored lies in the row of the matrix that it is counted to.
  bool StaysInside(const BoxNest& nest, const Destination& to) {
    arith::Analyzer::Scope inside(&analyzer_);
    for (const Expr& bound : nest.bounds) analyzer_.Assume(bound);
    const Expr last = to.first.back() + CastTo(DataType::Int(64), nest.loops.back()->var);
    return analyzer_.CanProve(last < to.shape.back());
  }

  // Whether the engine stores what the loops store, and no more.
  bool IsClipped(const BoxNest& nest, const Destination& to) {
    ArrayPlace place{.indices = {}, .shape = to.shape};
    size_t next = 0;
    for (size_t d = 0; d < to.first.size(); ++d) {
      const bool along = to.box[d] > 1;
      const Expr first = CastTo(DataType::Int(64), to.first[d]);
      place.indices.push_back(along ? first + CastTo(DataType::Int(64), nest.loops[next]->var) : first);
      next += along ? 1 : 0;
    }
    return std::ranges::all_of(nest.bounds,
                               [&](const Expr& e) { return IsBoundOfArray(e, nest.loops, place, gpu_, &analyzer_); });
  }

  // Strides that a map has.
  bool HasStrides(const Destination& to, int64_t bytes) const {
    for (size_t d = 0; d + 1 < to.strides.size(); ++d) {
      const std::optional<int64_t> stride = AsInt(to.strides[d]);
      if (stride && *stride * bytes % gpu_.bulk_alignment != 0) return false;
    }
    return IsInt(to.strides.back(), 1);
  }

  Stmt Make(const Stmt& s) {
    const std::optional<BoxNest> nest = BoxNestOf(s);
    if (!nest || nest->loops.size() != 2 || nest->inside || !IsFirstThread(nest->conditions)) return Stmt();
    const Buffer &from = nest->load->buffer, &array = nest->store->buffer;
    const bool from_shared = MemoryOwner(from->scope) == OwnerLevel::kBlock && from->dtype == array->dtype,
               plain = MemoryOwner(array->scope) == OwnerLevel::kDevice && !array->layout && !array->elem_offset;
    if (!from_shared || !plain || !HasMapType(array->dtype)) return Stmt();
    const int64_t rows = nest->rows(), columns = nest->columns();
    if (rows <= 1 || columns <= 1 || rows > gpu_.max_map_box) return Stmt();
    arith::Analyzer::Scope inside(&analyzer_);
    for (const ForNode* loop : nest->loops) analyzer_.Bind(loop->var, Range{loop->min, loop->extent});
    if (!ReadsTile(*nest)) return Stmt();
    const std::optional<BoxForm> form = BoxFormOf(from, rows, columns, gpu_);
    if (!form || form->span == 0) return Stmt();
    const auto fits = [&](const std::optional<Destination>& to) {
      return to && HasStrides(*to, array->dtype.bytes()) && IsClipped(*nest, *to);
    };
    std::optional<Destination> to = OfDimensions(*nest);
    if (!fits(to)) to = OfMatrix(*nest);
    return fits(to) ? Panels(*nest, *to, *form) : Stmt();
  }

  Stmt Panels(const BoxNest& nest, const Destination& to, const BoxForm& form) {
    std::vector<Stmt> stores;
    for (int64_t panel = 0; panel < nest.columns(); panel += form.columns) {
      stores.push_back(Panel(nest, panel, form, Engine(nest, to, form, panel)));
    }
    Stmt result = Sequence(std::move(stores));
    for (size_t i = nest.conditions.size(); i-- > 0;) result = If(nest.conditions[i], std::move(result));
    return result;
  }

  Expr Engine(const BoxNest& nest, const Destination& to, const BoxForm& form, int64_t panel) {
    const Var &row = nest.loops[0]->var, &column = nest.loops[1]->var;
    std::vector<Expr> map = MapOfArray(nest.store->buffer, to.shape, to.strides, form.span);
    for (size_t d = to.box.size(); d-- > 0;) {
      map.emplace_back(static_cast<int>(d + 1 == to.box.size() ? form.columns : to.box[d]));
    }
    const Expr from = Substitute(nest.load->buffer.Load(nest.load->indices),
                                 {{row, Const(row.dtype(), 0)}, {column, Const(column.dtype(), panel)}});
    std::vector<Expr> args = {Call(DataType::Handle(), kTensorMap, std::move(map)),
                              Call(DataType::Handle(), std::string(kAddressOf), {from})};
    for (size_t d = to.first.size(); d-- > 0;) {
      const Expr first = d + 1 == to.first.size() ? to.first[d] + Const(to.first[d].dtype(), panel) : to.first[d];
      args.push_back(CastTo(DataType::Int(32), analyzer_.Simplify(first)));
    }
    return Call(DataType::Void(), kBulkStore, std::move(args));
  }

  // A panel of the nest, by the instruction.
  Stmt Panel(const BoxNest& nest, int64_t panel, const BoxForm& form, Expr engine) {
    Stmt body(nest.store);
    for (size_t i = nest.bounds.size(); i-- > 0;) body = If(nest.bounds[i], std::move(body));
    return PanelOf(nest, form, panel, std::move(body), std::move(engine), &next_id_);
  }

  uint32_t next_id_;
  const GpuTarget& gpu_;
  bool of_some_ = false;  // inside of a branch that depends on the thread
};

}  // namespace

Function MakeBulkStores(const Function& function, const GpuTarget& gpu) {
  StoreMaker maker(function->next_id, gpu);
  Stmt body = maker.Mutate(function->body);
  return function.WithBody(std::move(body), maker.next_id());
}

}  // namespace tilewright
