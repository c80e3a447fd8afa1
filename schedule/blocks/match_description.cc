#include "schedule/blocks/match_description.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

bool IsCommutative(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin || op == BinaryOp::kMax ||
         op == BinaryOp::kEQ || op == BinaryOp::kNE || op == BinaryOp::kAnd || op == BinaryOp::kOr;
}

// Walks program and description together. Each Match method says whether the two agree and otherwise leaves the reason
// of the first disagreement.
class Matcher {
 public:
  // `block`: the block around what is matched.
  explicit Matcher(const BlockNode& block) {
    for (const IterVar& iter : block.iter_vars) origins_.Bind(iter.var, iter.domain);
  }
  bool Match(const Stmt& program, const Stmt& described);
  bool Match(const Expr& program, const Expr& described);
  // Whether what the description writes lies apart from all else that it names: an implementation may store one element
  // before it loads another.
  bool WritesApart(const BlockNode& described);

  const char* reason = "";
  std::vector<Expr> exprs;
  std::vector<std::string> texts;
  MatchedBuffers buffers;

 private:
  bool Differ(const char* why, std::vector<Expr> what = {}, std::vector<std::string> names = {}) {
    if (*reason == '\0') {
      reason = why;
      exprs = std::move(what);
      texts = std::move(names);
    }
    return false;
  }
  bool MatchLoops(const ForNode& program, const ForNode& described);
  bool MatchBlocks(const BlockRealizeNode& program, const BlockRealizeNode& described);
  bool MatchRange(const Range& program, const Range& described);
  bool MatchAll(const std::vector<Expr>& program, const std::vector<Expr>& described);
  bool MatchBinary(const BinaryNode& program, const BinaryNode& described);
  bool MatchAccess(const Buffer& program, const std::vector<Expr>& indices, const Buffer& described,
                   const std::vector<Expr>& described_indices);
  bool MatchNewBuffer(const Buffer& program, const Buffer& described);
  std::vector<size_t> DimsOf(const std::vector<Expr>& indices, const std::vector<Expr>& described);
  bool AreApart(const MatchedBuffer& a, const BufferRegion& of_a, const MatchedBuffer& b, const BufferRegion& of_b);
  bool UsesInner(const Expr& e) const {
    return UsesVar(e, [this](const VarNode* var) { return inner_.contains(var); });
  }
  void Bind(const Var& program, const Range& range, const Var& described) {
    vars_[described] = program;
    analyzer_.Bind(program, range);  // an iterator with one value is not part of an index
    inner_.insert(program.get());
  }

  VarMap vars_;                               // of the description
  std::unordered_set<const VarNode*> inner_;  // variables of the program bound inside of the block
  arith::Analyzer analyzer_;
  arith::Analyzer origins_;  // knows the iterators of the block around, which may have one value
};

bool Matcher::MatchRange(const Range& program, const Range& described) {
  if (analyzer_.CanProveEqual(program.min, Substitute(described.min, vars_)) &&
      analyzer_.CanProveEqual(program.extent, Substitute(described.extent, vars_))) {
    return true;
  }
  return Differ("{block0} does not match {text0}: the extent is {expr0} where {expr1} is described",
                {program.extent, described.extent});
}

bool Matcher::MatchLoops(const ForNode& program, const ForNode& described) {
  if (program.kind == ForKind::kThreadBound || described.kind == ForKind::kThreadBound) {
    if (program.kind != described.kind || program.thread_tag != described.thread_tag) {
      return Differ("{block0} does not match {text0}: the loops {text1} and {text2} differ in their thread", {},
                    {program.var.name(), described.var.name()});
    }
  }
  if (!MatchRange({program.min, program.extent}, {described.min, described.extent})) return false;
  Bind(program.var, {program.min, program.extent}, described.var);
  return Match(program.body, described.body);
}

bool Matcher::MatchBlocks(const BlockRealizeNode& program, const BlockRealizeNode& described) {
  const BlockNode &a = *program.block, &b = *described.block;
  // Blockize leaves iterators of one value out of the inner block: they may be described all the same.
  std::vector<IterVar> iters;
  std::vector<Expr> bindings;
  for (size_t i = 0; i < b.iter_vars.size(); ++i) {
    if (a.iter_vars.size() < b.iter_vars.size() && IsInt(b.iter_vars[i].domain.extent, 1)) {
      vars_[b.iter_vars[i].var] = b.iter_vars[i].domain.min;
      continue;
    }
    iters.push_back(b.iter_vars[i]);
    bindings.push_back(described.bindings[i]);
  }
  if (a.iter_vars.size() != iters.size()) {
    return Differ("{block0} does not match {text0}: block {text1} has another number of iterators than described", {},
                  {a.name});
  }
  if (!MatchAll(program.bindings, bindings) || !Match(program.predicate, described.predicate)) return false;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (a.iter_vars[i].kind != iters[i].kind) {
      return Differ("{block0} does not match {text0}: the iterator {text1} is {text2}, described as {text3}", {},
                    {a.iter_vars[i].var.name(), IterKindName(a.iter_vars[i].kind), IterKindName(iters[i].kind)});
    }
    if (!MatchRange(a.iter_vars[i].domain, iters[i].domain)) return false;
    Bind(a.iter_vars[i].var, a.iter_vars[i].domain, iters[i].var);
  }
  if (static_cast<bool>(a.init) != static_cast<bool>(b.init)) {
    return Differ("{block0} does not match {text0}: block {text1} has an init on one side only", {}, {a.name});
  }
  if (!a.alloc_buffers.empty() || !a.match_buffers.empty() || !b.alloc_buffers.empty() || !b.match_buffers.empty()) {
    return Differ("{block0} does not match {text0}: block {text1} has buffers of its own", {}, {a.name});
  }
  return (!a.init || Match(a.init, b.init)) && Match(a.body, b.body);
}

bool Matcher::Match(const Stmt& program, const Stmt& described) {
  if (program->kind() != described->kind()) {
    return Differ("{block0} does not match {text0}: the statements are of different kinds");
  }
  switch (program->kind()) {
    case Kind::kFor:
      return MatchLoops(*cast<ForNode>(program), *cast<ForNode>(described));
    case Kind::kBlockRealize:
      return MatchBlocks(*cast<BlockRealizeNode>(program), *cast<BlockRealizeNode>(described));
    case Kind::kSeq: {
      const auto &a = cast<SeqNode>(program)->stmts, &b = cast<SeqNode>(described)->stmts;
      if (a.size() != b.size()) return Differ("{block0} does not match {text0}: there are more or fewer statements");
      for (size_t i = 0; i < a.size(); ++i) {
        if (!Match(a[i], b[i])) return false;
      }
      return true;
    }
    case Kind::kStore: {
      const auto *a = cast<StoreNode>(program), *b = cast<StoreNode>(described);
      if (a->predicate || b->predicate) return Differ("{block0} does not match {text0}: a store is masked");
      return MatchAccess(a->buffer, a->indices, b->buffer, b->indices) && Match(a->value, b->value);
    }
    case Kind::kEvaluate:
      return Match(cast<EvaluateNode>(program)->value, cast<EvaluateNode>(described)->value);
    case Kind::kIf: {
      const auto *a = cast<IfNode>(program), *b = cast<IfNode>(described);
      if (static_cast<bool>(a->else_case) != static_cast<bool>(b->else_case)) {
        return Differ("{block0} does not match {text0}: an if has an else on one side only");
      }
      return Match(a->condition, b->condition) && Match(a->then_case, b->then_case) &&
             (!a->else_case || Match(a->else_case, b->else_case));
    }
    default:
      return Differ("{block0} does not match {text0}: there is a statement that cannot be matched");
  }
}

bool Matcher::MatchAll(const std::vector<Expr>& program, const std::vector<Expr>& described) {
  if (program.size() != described.size()) {
    return Differ("{block0} does not match {text0}: there are more or fewer operands");
  }
  for (size_t i = 0; i < program.size(); ++i) {
    if (!Match(program[i], described[i])) return false;
  }
  return true;
}

bool Matcher::MatchBinary(const BinaryNode& program, const BinaryNode& described) {
  if (!IsCommutative(program.op)) return Match(program.a, described.a) && Match(program.b, described.b);
  const MatchedBuffers before = buffers;
  if (Match(program.a, described.a) && Match(program.b, described.b)) return true;
  // The other order; when it fails too, the first order's reason stays.
  buffers = before;
  return Match(program.a, described.b) && Match(program.b, described.a);
}

bool Matcher::Match(const Expr& program, const Expr& described) {
  // Programs may write a constant as T.Cast("float32", 0).
  if (const auto* cast_node = dyn_cast<CastNode>(program)) {
    const Expr folded = CastTo(program.dtype(), cast_node->value);
    if (!isa<CastNode>(folded)) return Match(folded, described);
  }
  const Expr expected = isa<VarNode>(described) ? Substitute(described, vars_) : described;
  auto differ = [&] {
    return Differ("{block0} does not match {text0}: {expr0} stands where {expr1} is described", {program, described});
  };
  if (program->kind() != expected->kind() || program.dtype() != expected.dtype()) return differ();
  switch (program->kind()) {
    case Kind::kIntImm:
      return cast<IntImmNode>(program)->value == cast<IntImmNode>(expected)->value || differ();
    case Kind::kFloatImm:
      return cast<FloatImmNode>(program)->value == cast<FloatImmNode>(expected)->value || differ();
    case Kind::kStringImm:
      return cast<StringImmNode>(program)->value == cast<StringImmNode>(expected)->value || differ();
    case Kind::kVar:
      return program.same_as(expected) || differ();
    case Kind::kBinary: {
      const auto *a = cast<BinaryNode>(program), *b = cast<BinaryNode>(expected);
      return a->op == b->op ? MatchBinary(*a, *b) : differ();
    }
    case Kind::kNot:
      return Match(cast<NotNode>(program)->a, cast<NotNode>(expected)->a);
    case Kind::kSelect: {
      const auto *a = cast<SelectNode>(program), *b = cast<SelectNode>(expected);
      return Match(a->condition, b->condition) && Match(a->true_value, b->true_value) &&
             Match(a->false_value, b->false_value);
    }
    case Kind::kCast:
      return Match(cast<CastNode>(program)->value, cast<CastNode>(expected)->value);
    case Kind::kLoad: {
      const auto *a = cast<LoadNode>(program), *b = cast<LoadNode>(expected);
      if (a->predicate || b->predicate) return differ();
      return MatchAccess(a->buffer, a->indices, b->buffer, b->indices);
    }
    case Kind::kCall: {
      const auto *a = cast<CallNode>(program), *b = cast<CallNode>(expected);
      return a->op == b->op ? MatchAll(a->args, b->args) : differ();
    }
    default:
      return differ();
  }
}

bool Matcher::MatchNewBuffer(const Buffer& program, const Buffer& described) {
  if (program->dtype != described->dtype) {
    return Differ("{block0} does not match {text0}: buffer {text1} has the type {text2}, described is {text3}", {},
                  {program->name, program->dtype.ToString(), described->dtype.ToString()});
  }
  if (!(program->scope == described->scope)) {
    return Differ("{block0} does not match {text0}: buffer {text1} is in the scope {text2}, described is {text3}", {},
                  {program->name, program->scope.text(), described->scope.text()});
  }
  if (program->ndim() < described->ndim()) {
    return Differ("{block0} does not match {text0}: buffer {text1} has fewer dimensions than described", {},
                  {program->name});
  }
  return true;
}

// The dimensions that the described ones are: the last ones, without those in which nothing moves.
std::vector<size_t> Matcher::DimsOf(const std::vector<Expr>& indices, const std::vector<Expr>& described) {
  auto moves = [&](const Expr& index) { return UsesInner(analyzer_.Simplify(index)); };
  std::vector<size_t> dims(described.size());
  size_t spare = indices.size() - described.size();
  for (size_t k = described.size(), d = indices.size(); k-- > 0;) {
    --d;
    const bool described_moves = moves(Substitute(described[k], vars_));
    for (; spare > 0 && described_moves && !moves(indices[d]); --spare) --d;
    dims[k] = d;
  }
  return dims;
}

bool Matcher::MatchAccess(const Buffer& program, const std::vector<Expr>& indices, const Buffer& described,
                          const std::vector<Expr>& described_indices) {
  auto known = buffers.find(described);
  if (known == buffers.end()) {
    if (!MatchNewBuffer(program, described)) return false;
  } else if (!known->second.buffer.same_as(program)) {
    return Differ("{block0} does not match {text0}: buffer {text1} stands where {text2} is expected", {},
                  {program->name, known->second.buffer->name});
  }
  std::vector<size_t> dims = known == buffers.end() ? DimsOf(indices, described_indices) : known->second.dims;
  std::vector<Expr> origin = indices;
  for (size_t k = 0; k < dims.size(); ++k) {
    Expr& shift = origin[dims[k]];
    shift = analyzer_.Simplify(shift - Substitute(described_indices[k], vars_));
  }
  for (size_t d = 0; d < indices.size(); ++d) {
    if (UsesInner(origin[d])) {
      return Differ("{block0} does not match {text0}: the index {expr0} of {text1} is not a shift of what is described",
                    {indices[d]}, {program->name});
    }
    if (known != buffers.end() && !origins_.CanProveEqual(origin[d], known->second.origin[d])) {
      return Differ("{block0} does not match {text0}: {text1} is accessed at {expr0} and at {expr1}",
                    {known->second.origin[d], origin[d]}, {program->name});
    }
  }
  if (known == buffers.end()) buffers[described] = {program, std::move(origin), std::move(dims)};
  return true;
}

// The elements along dimension `d` of the program's buffer.
Range AlongDimension(const MatchedBuffer& matched, const BufferRegion& described, size_t d) {
  const auto dim = std::ranges::find(matched.dims, d);
  if (dim == matched.dims.end()) return {matched.origin[d], 1};
  const Range& range = described.region[static_cast<size_t>(dim - matched.dims.begin())];
  return {matched.origin[d] + range.min, range.extent};
}

bool Matcher::AreApart(const MatchedBuffer& a, const BufferRegion& of_a, const MatchedBuffer& b,
                       const BufferRegion& of_b) {
  if (!a.buffer->data.same_as(b.buffer->data)) return true;
  if (!a.buffer.same_as(b.buffer)) return false;
  for (size_t d = 0; d < a.origin.size(); ++d) {
    const Range x = AlongDimension(a, of_a, d), y = AlongDimension(b, of_b, d);
    if (origins_.CanProve(x.min + x.extent <= y.min) || origins_.CanProve(y.min + y.extent <= x.min)) return true;
  }
  return false;
}

bool Matcher::WritesApart(const BlockNode& described) {
  for (const BufferRegion& write : described.writes) {
    const auto written = buffers.find(write.buffer);
    if (written == buffers.end()) continue;
    for (const std::vector<BufferRegion>* regions : {&described.reads, &described.writes}) {
      for (const BufferRegion& other : *regions) {
        const auto at = buffers.find(other.buffer);
        if (at == buffers.end() || other.buffer.same_as(write.buffer)) continue;
        if (AreApart(written->second, write, at->second, other)) continue;
        return Differ("{block0} does not match {text0}: {text1} and {text2}, which it writes, may overlap in {text3}",
                      {}, {other.buffer->name, write.buffer->name, written->second.buffer->name});
      }
    }
  }
  return true;
}

}  // namespace

Outcome<MatchedBuffers> MatchDescription(const char* primitive, const BlockNode& block, const Function& description,
                                         const std::string& name) {
  const BlockNode& described = *cast<BlockRealizeNode>(description->body)->block;
  Matcher matcher(block);
  auto refuse = [&](const char* reason) {
    std::vector<std::string> texts = {name};
    texts.insert(texts.end(), matcher.texts.begin(), matcher.texts.end());
    return Refusal{primitive, reason, {block.id}, matcher.exprs, std::move(texts)};
  };
  if (described.init && !block.init) return refuse("{text0} describes an init, which {block0} does not have");
  if (described.init && !matcher.Match(block.init, described.init)) return refuse(matcher.reason);
  if (!matcher.Match(block.body, described.body) || !matcher.WritesApart(described)) return refuse(matcher.reason);
  return std::move(matcher.buffers);
}

}  // namespace tilewright
