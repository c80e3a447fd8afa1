// Loops.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"
#include "ir/script/region_arithmetic.h"

namespace tilewright::script {

using Kind = PyExpr::Kind;

bool FunctionReader::ReadFor(const PyStmt& s, Segments& out) {
  std::vector<const PyExpr*> targets;
  if (s.target->kind == Kind::kTuple || s.target->kind == Kind::kList) {
    for (const PyExprPtr& item : s.target->items) targets.push_back(item.get());
  } else {
    targets.push_back(s.target.get());
  }
  for (const PyExpr* target : targets) {
    if (target->kind != Kind::kName) return Fail(target->offset, "expected the name of a loop variable");
  }
  if (!s.value) return false;
  std::vector<LoopRange> loops;
  if (!ReadLoops(*s.value, targets.size(), &loops)) return false;
  nesting_ += static_cast<int>(loops.size());
  if (nesting_ > kMaxNesting) return Fail(s.offset, absl::StrCat("loops nested more than ", kMaxNesting, " deep"));
  frames_.emplace_back();
  bool ok = true;
  for (size_t i = 0; ok && i < loops.size(); ++i) {
    ForNode::Fields& loop = loops[i].loop;
    loop.var = TakeAnnounced(targets[i]->text, loop.extent.dtype());
    Expr value = loop.var;
    if (loops[i].first) {
      value = loop.var * Const(loop.var.dtype(), loops[i].step);
      if (!IsInt(loops[i].first, 0)) value = loops[i].first + value;
      stepped_.push_back(value);
    }
    loop_ranges_[value.get()] = loops[i].first ? loops[i].values : Range{loop.min, loop.extent};
    ok = Define(targets[i]->text, targets[i]->offset, Value{std::move(value)});
  }
  const size_t open = open_loops_.size();
  for (const LoopRange& range : loops) open_loops_.push_back(range.loop.var);
  Stmt body = ok ? ReadBody(s.body) : Stmt();
  open_loops_.resize(open);
  LeaveFrame();
  nesting_ -= static_cast<int>(loops.size());
  if (!body) return false;
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].loop.body = std::move(body);
    body = For(std::move(loops[i].loop));
  }
  out.back().stmts.push_back(std::move(body));
  return true;
}

bool FunctionReader::ReadLoops(const PyExpr& iterator, size_t count, std::vector<LoopRange>* loops) {
  std::optional<std::string> name = CalledName(iterator);
  if (!name && iterator.kind == Kind::kCall && iterator.items[0]->kind == Kind::kName &&
      iterator.items[0]->text == "range") {
    name = "serial";
  }
  if (name == "grid") {
    if (!iterator.keywords.empty()) return Fail(iterator.keyword_offsets[0], "T.grid has no keyword arguments");
    if (iterator.items.size() - 1 != count) {
      return Fail(iterator.offset,
                  absl::StrCat("T.grid has ", iterator.items.size() - 1, " extents for ", count, " loop variables"));
    }
    for (size_t i = 0; i < count; ++i) {
      const PyExpr* stop = iterator.items[i + 1].get();
      const PyExpr* start = nullptr;
      if (stop->kind == Kind::kTuple && stop->items.size() == 2) {
        start = stop->items[0].get();
        stop = stop->items[1].get();
      }
      LoopRange loop;
      if (!ReadLoopRange(iterator, "serial", start, stop, nullptr, &loop)) return false;
      loops->push_back(std::move(loop));
    }
    return true;
  }
  static constexpr std::pair<std::string_view, ForKind> kKinds[] = {{"serial", ForKind::kSerial},
                                                                    {"parallel", ForKind::kParallel},
                                                                    {"vectorized", ForKind::kVectorized},
                                                                    {"unroll", ForKind::kUnrolled},
                                                                    {"thread_binding", ForKind::kThreadBound}};
  for (const auto& [kind_name, kind] : kKinds) {
    if (name != std::string(kind_name)) continue;
    if (count != 1) return Fail(iterator.offset, absl::StrCat("one loop for ", count, " loop variables"));
    Arguments args;
    LoopRange range;
    ForNode::Fields& loop = range.loop;
    loop.kind = kind;
    const bool thread = kind == ForKind::kThreadBound;
    // T.thread_binding(64, "threadIdx.x") and T.thread_binding(0, 64, "threadIdx.x") are both written.
    const bool short_form = thread && iterator.items.size() == 3 && iterator.items[2]->kind == Kind::kString;
    // range(0, 16, 2); T.serial(0, 16, annotations, step=2)
    const bool range_call = iterator.items[0]->kind == Kind::kName;
    const std::string_view last_names[] = {range_call ? "step" : "annotations", range_call ? "annotations" : "step"};
    const bool bound = short_form ? Bind(iterator, {"start", "thread", "annotations"}, &args)
                       : thread   ? Bind(iterator, {"start", "stop", "thread", "annotations"}, &args)
                                  : Bind(iterator, {"start", "stop", last_names[0], last_names[1]}, &args);
    if (!bound || !Require(iterator, args, "start")) return false;
    const PyExpr* start = args["start"];
    const PyExpr* stop = args["stop"];
    if (stop == nullptr) std::swap(start, stop);
    if (!ReadLoopRange(iterator, kind_name, start, stop, args["step"], &range)) return false;
    if (thread) {
      if (!Require(iterator, args, "thread") || !ReadString(*args["thread"], &loop.thread_tag)) return false;
    }
    if (args["annotations"] != nullptr && !ReadAnnotations(*args["annotations"], &loop.annotations)) return false;
    loops->push_back(std::move(range));
    return true;
  }
  return Fail(iterator.offset,
              "expected range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding after 'in'");
}

// Loops count in int32 or int64; narrower numbers are widened to them.
Expr FunctionReader::ReadLoopBound(const PyExpr& e) {
  Expr bound = ReadIndex(e);
  if (!bound || bound.dtype().is_index()) return bound;
  const DataType type = bound.dtype();
  if (!type.is_scalar() || (type.is_uint() && type.bits() == 64)) {
    Fail(e.offset, absl::StrCat("a loop counts in int32 or int64, not in ", type.ToString()));
    return Expr();
  }
  return CastTo(DataType::Int(type.bits() < 32 ? 32 : 64), std::move(bound));
}

bool FunctionReader::ReadLoopRange(const PyExpr& iterator, std::string_view kind, const PyExpr* start,
                                   const PyExpr* stop, const PyExpr* step, LoopRange* out) {
  Expr last = ReadLoopBound(*stop);
  Expr first = start == nullptr ? Expr() : ReadLoopBound(*start);
  if (!last || (start != nullptr && !first)) return false;
  if (!first) first = Const(last.dtype(), 0);
  if (!first.dtype().is_scalar() || !last.dtype().is_scalar()) {
    return Fail(iterator.offset,
                absl::StrCat("the extent of a ", absl::string_view(kind.data(), kind.size()), " loop is a scalar"));
  }
  if (!Unify(&first, &last, iterator.offset)) return false;
  if (step != nullptr) return ApplyStep(*step, std::move(first), last, out);
  out->loop.extent = IntervalExtent(first, last);
  out->loop.min = std::move(first);
  return true;
}

// range(first, last, step) is a loop over 0, 1, ..., whose name stands for first + var * step.
bool FunctionReader::ApplyStep(const PyExpr& step, Expr first, const Expr& last, LoopRange* out) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!ReadInt(step, -kMost, kMost, &out->step)) return false;
  if (out->step == 0) return Fail(step.offset, "the step of a loop is not 0");
  const DataType type = last.dtype();
  const bool up = out->step > 0;
  const Expr span = up ? IntervalExtent(first, last) : IntervalExtent(last, first);
  const int64_t size = up ? out->step : -out->step;
  const auto length = AsInt(span);
  if (length) {
    out->loop.extent = Const(type, *length <= 0 ? 0 : (*length - 1) / size + 1);
  } else {
    out->loop.extent = FloorDiv(span + Const(type, size - 1), Const(type, size));
  }
  out->loop.min = Const(type, 0);
  out->values = up ? Range{first, span} : Range{last + Const(type, 1), span};
  out->first = std::move(first);
  if (out->step == 1) {
    out->loop.min = std::move(out->first);
    out->first = Expr();
  }
  return true;
}

}  // namespace tilewright::script
