#include "codegen/lower/gpu/bulk_copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/bulk_boxes.h"
#include "codegen/lower/gpu/first_threads_nest.h"
#include "codegen/lower/gpu/images/image_rows.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/multicast.h"
#include "codegen/lower/gpu/threaded_mutator.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/builtin.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

// An array that the engine reads: which loop runs along each dimension (null: none), and where the box begins.
struct Source {
  std::vector<const ForNode*> loops;
  std::vector<Expr> first, strides;
};

// What copies of rows of one image agree on, so that one map does for all of them.
struct SharedBox {
  int64_t positions = 0;     // of the counted axis
  std::vector<int64_t> low;  // the least shifts

  void Join(const ImageRows& rows) {
    const std::vector<int64_t> shifts = LeastShifts(rows);
    if (low.empty()) low = shifts;
    for (size_t a = 0; a < low.size(); ++a) low[a] = std::min(low[a], shifts[a]);
    if (rows.counted < 0) return;
    const int64_t count = rows.axes[static_cast<size_t>(rows.counted)].positions;
    positions = positions == 0 ? count : std::min(positions, count);
  }
};
// By array, rows and columns.
using SharedBoxes = std::map<std::tuple<const VarNode*, int64_t, int64_t>, SharedBox>;

class BulkMaker : public ThreadedMutator {
 public:
  using ThreadedMutator::Mutate;
  // `known`: the boxes that a first run found, or null in this run.
  BulkMaker(uint32_t next_id, const SharedBoxes* known, const GpuTarget& gpu)
      : next_id_(next_id), known_(known), gpu_(gpu) {}
  const SharedBoxes& found() const { return found_; }
  uint32_t next_id() const { return next_id_; }

  Stmt Mutate(const Stmt& s) override {
    if (s && inside_ && (isa<ForNode>(s) || isa<IfNode>(s))) {
      if (Stmt made = Make(s)) return made;
      const Stmt nest = of_producer_ ? FirstThreadsNest(s, threads_) : Stmt();
      if (Stmt made = nest ? Make(nest) : Stmt()) return made;
    }
    return ThreadedMutator::Mutate(s);
  }

 protected:
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    if (IsInstruction(self)) return self;
    const bool outer = std::exchange(inside_, inside_ || op->key == kAsyncCopy);
    const bool outer_role = std::exchange(of_producer_, of_producer_ || op->key == kWarpRoles);
    Stmt result = ThreadedMutator::MutateAttrStmt(op, self);
    inside_ = outer;
    of_producer_ = outer_role;
    return result;
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const bool of_cluster = op->kind == ForKind::kThreadBound && IsClusterTag(op->thread_tag);
    if (of_cluster && cluster_.empty()) blocks_copy_alike_ = BlocksCopyAlike(self);
    if (of_cluster) cluster_.push_back(op);
    Stmt result = ThreadedMutator::MutateFor(op, self);
    if (of_cluster) cluster_.pop_back();
    return result;
  }

 private:
  // Elements outside of an array are zeros for the engine.
  bool IsInsideOrZero(const BoxNest& nest) {
    if (!nest.inside) return true;
    arith::Analyzer::Scope inside(&analyzer_);
    for (const ForNode* loop : nest.loops) analyzer_.Bind(loop->var, Range{loop->min, loop->extent});
    return IsBoundOfArray(nest.inside, nest.loops, {nest.load->indices, nest.load->buffer->shape}, gpu_, &analyzer_);
  }

  // The box's first index in a dimension along which `loop` runs; null when it does not run there by itself.
  Expr FirstOf(const Expr& index, const ForNode* loop, const BoxNest& nest) {
    const Expr first = loop == nullptr ? index : analyzer_.Simplify(index - CastTo(index.dtype(), loop->var));
    return nest.UsesLoops(first) ? Expr() : first;
  }

  std::optional<Source> SourceOf(const BoxNest& nest) {
    const Buffer& buffer = nest.load->buffer;
    const auto rank = static_cast<int64_t>(buffer->ndim());
    const bool plain = MemoryOwner(buffer->scope) == OwnerLevel::kDevice && !buffer->layout && !buffer->elem_offset;
    if (!plain || rank < 1 || rank > gpu_.max_map_rank || !HasMapType(buffer->dtype)) return std::nullopt;
    Source source;
    size_t found = 0;
    for (const Expr& index : nest.load->indices) {
      const auto along = std::ranges::find_if(nest.loops, [&](const ForNode* l) { return UsesVar(index, l->var); });
      const ForNode* loop = along == nest.loops.end() ? nullptr : *along;
      found += loop != nullptr ? 1 : 0;
      source.loops.push_back(loop);
      source.first.push_back(FirstOf(index, loop, nest));
      if (!source.first.back()) return std::nullopt;
    }
    if (source.loops.back() != nest.loops.back() || found != nest.loops.size()) return std::nullopt;
    source.strides = ElementStrides(buffer, &analyzer_);
    return IsInt(source.strides.back(), 1) ? std::optional(std::move(source)) : std::nullopt;
  }
  // Whether the loops run along the last dimensions of the buffer, from its first row and column on.
  bool FillsTile(const BoxNest& nest) {
    const std::vector<Expr>& indices = nest.store->indices;
    const Buffer& buffer = nest.store->buffer;
    const size_t rank = indices.size(), loops = nest.loops.size();
    if (MemoryOwner(buffer->scope) != OwnerLevel::kBlock || buffer->dtype != nest.load->buffer->dtype) return false;
    for (size_t d = 0; d < rank; ++d) {
      const bool last = d + loops >= rank;
      const ForNode* loop = last ? nest.loops[d + loops - rank] : nullptr;
      const Expr first = FirstOf(indices[d], loop, nest);
      if (!first || ((loop != nullptr || d + 2 >= rank) && !IsInt(first, 0))) return false;
    }
    return rank >= loops;
  }

  Stmt Make(const Stmt& s) {
    const std::optional<BoxNest> nest = BoxNestOf(s);
    if (!nest || !nest->bounds.empty() || !FillsTile(*nest) || !IsFirstThread(nest->conditions)) return Stmt();
    const int64_t rows = nest->rows(), columns = nest->columns();
    std::optional<Source> source;
    if (rows <= gpu_.max_map_box && IsInsideOrZero(*nest)) source = SourceOf(*nest);
    const std::optional<ImageBox> image = source ? std::nullopt : ImageOf(*nest, rows, columns);
    if (!source && !image) return Stmt();
    const std::optional<BoxForm> form = BoxFormOf(nest->store->buffer, rows, columns, gpu_);
    if (!form) return Stmt();
    const std::optional<Multicast> multicast = source ? ToCluster(*nest, *source, *form) : std::nullopt;
    std::vector<Stmt> copies;
    for (int64_t panel = 0; panel < columns; panel += form->columns) {
      copies.push_back(Copy(*nest, *form, panel,
                            source ? Load(*nest, *source, *form, multicast.value_or(Multicast()), panel)
                                   : Load(*nest, *image, *form, panel)));
    }
    Stmt result = Sequence(std::move(copies));
    for (size_t i = nest->conditions.size(); i-- > 0;) result = If(nest->conditions[i], std::move(result));
    return result;
  }

  // The blocks of the cluster that a copy can fill at once: each copies as many of the rows, which begin where boxes
  // may.
  std::optional<Multicast> ToCluster(const BoxNest& nest, const Source& source, const BoxForm& form) const {
    if (!of_producer_ || !blocks_copy_alike_ || cluster_.empty() || nest.loops.size() != 2) return std::nullopt;
    std::vector<Expr> place = source.first;
    place.insert(place.end(), nest.store->indices.begin(), nest.store->indices.end());
    std::optional<Multicast> multicast = PlanMulticast(cluster_, place);
    if (!multicast) return std::nullopt;
    const int64_t rows = *AsInt(nest.loops[0]->extent);
    const int64_t bytes = rows / multicast->blocks * form.columns * nest.store->buffer->dtype.bytes();
    const bool divides = rows % multicast->blocks == 0 && bytes % form.Alignment(gpu_) == 0;
    return divides ? multicast : std::nullopt;
  }

  // The rows as pixels of an image.
  std::optional<ImageBox> ImageOf(const BoxNest& nest, int64_t rows, int64_t columns) {
    const Buffer& buffer = nest.load->buffer;
    const bool global = MemoryOwner(buffer->scope) == OwnerLevel::kDevice && !buffer->elem_offset;
    if (nest.loops.size() != 2 || !global || !HasMapType(buffer->dtype)) return std::nullopt;
    const ImageNest image = {nest.load, nest.loops[0]->var, nest.loops[1]->var, rows, columns, nest.inside, &gpu_};
    const std::tuple key(buffer->data.get(), rows, columns);
    const auto known = known_ == nullptr ? SharedBoxes::const_iterator() : known_->find(key);
    const bool shared = known_ != nullptr && known != known_->end();
    absl::StatusOr<ImageRows> found = FindImageRows(image, shared ? known->second.positions : 0, &analyzer_);
    if (!found.ok() && shared) found = FindImageRows(image, 0, &analyzer_);
    if (!found.ok()) return std::nullopt;
    found_[key].Join(*found);
    absl::StatusOr<ImageBox> box = BoxOf(*found, buffer, shared ? known->second.low : LeastShifts(*found));
    if (!box.ok() && shared) box = BoxOf(*found, buffer, LeastShifts(*found));
    return box.ok() ? std::optional(*std::move(box)) : std::nullopt;
  }

  // One panel; of its rows, those that this block copies.
  Expr Load(const BoxNest& nest, const Source& source, const BoxForm& form, const Multicast& multicast, int64_t panel) {
    const ForNode *inner = nest.loops.back(), *outer = nest.loops.size() == 2 ? nest.loops[0] : nullptr;
    VarMap first;
    first[inner->var] = Const(inner->var.dtype(), panel);
    if (outer != nullptr) first[outer->var] = Const(outer->var.dtype(), 0);
    if (multicast.blocks > 1) {
      const int64_t rows = *AsInt(outer->extent) / multicast.blocks;
      first[outer->var] = CastTo(outer->var.dtype(), arith::Simplify(multicast.share * Const(DataType::Int(32), rows)));
    }
    std::vector<Expr> args = {PlaceOf(nest, first), Map(nest, source, form, multicast.blocks)};
    if (multicast.blocks > 1) args.insert(args.end(), {multicast.mask, Expr(multicast.blocks)});
    for (size_t d = source.loops.size(); d-- > 0;) {
      const ForNode* loop = source.loops[d];
      const Expr offset = loop == nullptr ? Expr(0) : first[loop->var];
      args.push_back(
          CastTo(DataType::Int(32), analyzer_.Simplify(source.first[d] + CastTo(source.first[d].dtype(), offset))));
    }
    return Call(DataType::Void(), multicast.blocks > 1 ? kBulkMulticast : kBulkLoad, std::move(args));
  }
  Expr Load(const BoxNest& nest, const ImageBox& box, const BoxForm& form, int64_t panel) {
    const Var &row = nest.loops[0]->var, &column = nest.loops[1]->var;
    const VarMap first = {{row, Const(row.dtype(), 0)}, {column, Const(column.dtype(), panel)}};
    std::vector<Expr> args = {PlaceOf(nest, first), Map(nest, box, form)};
    for (const std::vector<Expr>* group : {&box.coordinates, &box.offsets}) {
      for (const Expr& e : *group) args.push_back(analyzer_.Simplify(e));
    }
    args[2] = analyzer_.Simplify(args[2] + Expr(static_cast<int>(panel)));
    return Call(DataType::Void(), absl::StrCat(kIm2colLoad, box.coordinates.size(), "d"), std::move(args));
  }
  static Expr PlaceOf(const BoxNest& nest, const VarMap& first) {
    const Expr to = Substitute(nest.store->buffer.Load(nest.store->indices), first);
    return Call(DataType::Handle(), std::string(kAddressOf), {to});
  }

  // A panel of the nest, by the instruction.
  Stmt Copy(const BoxNest& nest, const BoxForm& form, int64_t panel, Expr load) {
    // The body copies the panel alone, and all that this block gets of it.
    return PanelOf(nest, form, panel, Stmt(nest.store), std::move(load), &next_id_);
  }

  Expr Map(const BoxNest& nest, const ImageBox& box, const BoxForm& form) {
    std::vector<Expr> args = MapOfArray(nest.load->buffer, nest.load->buffer->shape,
                                        ElementStrides(nest.load->buffer, &analyzer_), form.span);
    args.emplace_back(static_cast<int>(form.columns));
    args.emplace_back(static_cast<int>(*AsInt(nest.loops[0]->extent)));
    for (const std::vector<int64_t>* group : {&box.lower, &box.upper, &box.steps}) {
      for (const int64_t each : *group) args.emplace_back(static_cast<int>(each));
    }
    return Call(DataType::Handle(), kIm2colMap, std::move(args));
  }
  // `blocks`: that share the rows.
  static Expr Map(const BoxNest& nest, const Source& source, const BoxForm& form, int64_t blocks) {
    const size_t rank = source.loops.size();
    std::vector<Expr> args = MapOfArray(nest.load->buffer, nest.load->buffer->shape, source.strides, form.span);
    for (size_t d = rank; d-- > 0;) {
      const ForNode* loop = source.loops[d];
      args.push_back(loop == nullptr ? Expr(1)
                     : d + 1 == rank ? Expr(static_cast<int>(form.columns))
                                     : Expr(static_cast<int>(*AsInt(loop->extent) / blocks)));
    }
    return Call(DataType::Handle(), kTensorMap, std::move(args));
  }

  uint32_t next_id_;
  const SharedBoxes* known_;
  const GpuTarget& gpu_;
  SharedBoxes found_;
  bool inside_ = false;
  bool of_producer_ = false;  // the pipeline gives its copies to threads of their own
  std::vector<const ForNode*> cluster_;
  bool blocks_copy_alike_ = false;  // those of a cluster
};

}  // namespace

bool IsBulkLoad(const CallNode& call) {
  return call.op == kBulkLoad || call.op == kBulkMulticast || call.op.starts_with(kIm2colLoad);
}

bool IsTensorMap(const CallNode& call) { return call.op == kTensorMap || call.op == kIm2colMap; }

int64_t BytesOfBox(const CallNode& map) {
  const auto type = DataType::Parse(cast<StringImmNode>(map.args[1])->value);
  const auto rank = static_cast<size_t>(AsInt(map.args[3]).value_or(0));
  int64_t bytes = type ? type->bytes() : 1;
  // Channels and pixels, or an extent of each dimension.
  const size_t first = 3 + 2 * rank, count = map.op == kIm2colMap ? 2 : rank;
  for (size_t i = first; i < first + count; ++i) bytes *= AsInt(map.args[i]).value_or(1);
  return bytes;
}

Function MakeBulkCopies(const Function& function, const GpuTarget& gpu) {
  BulkMaker first(function->next_id, nullptr, gpu);
  Stmt body = first.Mutate(function->body);
  if (first.found().empty()) return function.WithBody(std::move(body), first.next_id());
  BulkMaker second(function->next_id, &first.found(), gpu);
  body = second.Mutate(function->body);
  return function.WithBody(std::move(body), second.next_id());
}

}  // namespace tilewright
