// Blocks: iterators, regions and the other directives of their signature.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/reader.h"
#include "ir/script/region_arithmetic.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

std::optional<IterKind> ParseIterKind(std::string_view name) {
  if (name == "spatial" || name == "S") return IterKind::kSpatial;
  if (name == "reduce" || name == "R") return IterKind::kReduce;
  if (name == "scan") return IterKind::kScan;
  if (name == "opaque" || name == "O") return IterKind::kOpaque;
  return std::nullopt;
}

// A reduction reads its output without saying so; older versions of TVM say it.
void LeaveOutOwnSum(BlockNode::Fields* block) {
  std::erase_if(block->reads, [&](const BufferRegion& read) {
    return std::ranges::any_of(block->writes, [&](const BufferRegion& write) {
      return write.buffer.same_as(read.buffer) &&
             std::ranges::equal(write.region, read.region, [](const Range& a, const Range& b) {
               return StructuralEqual(a.min, b.min) && StructuralEqual(a.extent, b.extent);
             });
    });
  });
}

// Whether the iterator of a block inside of another has the value of one of that block's, where its domain begins. The
// peer writes the end of such a domain wrongly when the value decides how far a loop inside runs:
//   v_1 = T.axis.spatial((v, v + (1 - v)), v)
bool IsOneValue(const Range& domain, const Expr& binding) {
  const auto* begin = dyn_cast<VarNode>(domain.min);
  return begin != nullptr && StructuralEqual(domain.min, binding) &&
         UsesVar(domain.extent, [&](const VarNode* var) { return var == begin; });
}

}  // namespace

FunctionReader::BlockScope* FunctionReader::CurrentBlock(uint32_t offset, const std::string& what) {
  if (!blocks_.empty()) return blocks_.back();
  Fail(offset, absl::StrCat("T.", what, " stands in a block"));
  return nullptr;
}

FunctionReader::BlockScope* FunctionReader::OwnBlock(uint32_t offset, const std::string& what) {
  BlockScope* scope = CurrentBlock(offset, what);
  if (scope == nullptr || places_.size() == scope->level) return scope;
  Fail(offset, absl::StrCat("T.", what, " stands directly in its block, not in a loop or another statement of it"));
  return nullptr;
}

bool FunctionReader::ReadBlock(const PyStmt& s, Segments& out) {
  const PyExpr& call = *s.value;
  Arguments args;
  BlockScope scope;
  if (!Bind(call, {"name", "no_realize"}, &args)) return false;
  if (args["name"] != nullptr && !ReadString(*args["name"], &scope.block.name)) return false;
  if (s.target) return Fail(s.target->offset, "a block has no name but its string");
  scope.level = places_.size() + 1;
  blocks_.push_back(&scope);
  ++nesting_;
  Stmt body = ReadBody(s.body);
  --nesting_;
  blocks_.pop_back();
  if (!body) return false;
  scope.block.body = std::move(body);
  const bool is_root = blocks_.empty() && scope.block.name == "root";  // which need not declare anything
  BindOuterLoops(&scope, open_loops_.size());
  if (scope.block.init) LeaveOutOwnSum(&scope.block);
  Block block(std::move(scope.block));
  if (!scope.has_reads || !scope.has_writes) {
    AccessRegions accesses = DetectRegions(*block);
    BlockNode::Fields fields = block->fields();
    if (!scope.has_reads) fields.reads = std::move(accesses.reads);
    if (!scope.has_writes) fields.writes = std::move(accesses.writes);
    block = Block(std::move(fields));
  }
  // Blocks that people write by hand (external operators, attention's kernels) leave out buffers, or declare nothing.
  if (!is_root) block = WithUndeclaredRegions(block);
  out.back().stmts.push_back(Realize(std::move(scope.bindings), std::move(scope.predicate), std::move(block)));
  return true;
}

void FunctionReader::BindOuterLoops(BlockScope* scope, size_t loops) {
  std::unordered_set<const VarNode*> used;
  const auto note = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) used.insert(var);
      return true;
    });
  };
  const auto note_regions = [&](const std::vector<BufferRegion>& regions) {
    for (const BufferRegion& region : regions) {
      for (const Range& range : region.region) {
        note(range.min);
        note(range.extent);
      }
    }
  };
  BlockNode::Fields& block = scope->block;
  for (const Stmt& part : {block.init, block.body}) {
    if (part) PreOrderExprs(part, [&](const Expr& e) { return note(e), false; });
  }
  note_regions(block.reads);
  note_regions(block.writes);
  for (const MatchBuffer& match : block.match_buffers) note_regions({match.source});
  VarMap iterators;
  for (size_t i = 0; i < loops; ++i) {
    const Var& loop = open_loops_[i];
    const auto range = loop_ranges_.find(loop.get());
    if (!used.contains(loop.get()) || range == loop_ranges_.end()) continue;
    Var iterator("v" + loop.name(), loop.dtype());
    block.iter_vars.push_back({iterator, range->second, IterKind::kOpaque});
    scope->bindings.push_back(loop);
    iterators[loop] = iterator;
  }
  if (iterators.empty()) return;
  if (block.init) block.init = Substitute(block.init, iterators);
  block.body = Substitute(block.body, iterators);
  for (auto* regions : {&block.reads, &block.writes}) {
    for (BufferRegion& region : *regions) region = Substitute(region, iterators);
  }
  for (MatchBuffer& match : block.match_buffers) match.source = Substitute(match.source, iterators);
}

bool FunctionReader::ReadInit(const PyStmt& s) {
  BlockScope* scope = OwnBlock(s.offset, "init");
  if (scope == nullptr) return false;
  if (scope->block.init) return Fail(s.offset, "this block has an init already");
  ++nesting_;
  scope->block.init = ReadBody(s.body);
  --nesting_;
  return static_cast<bool>(scope->block.init);
}

bool FunctionReader::ReadDirective(const PyExpr& call, const std::string& name, bool* ok) {
  const bool reads = name == "reads";
  const bool where = name == "where";
  const bool attr = name == "block_attr" || name == "sblock_attr";
  if (!reads && !where && !attr && name != "writes") {
    if (!absl::StartsWith(name, "axis.") && name != "match_buffer" && name != "alloc_buffer" &&
        name != "sblock_alloc_buffer" && name != "alloc_shared" && name != "alloc_local") {
      return false;
    }
    *ok = Fail(call.offset, absl::StrCat("expected a name for the result of T.", name));
    return true;
  }
  *ok = false;
  BlockScope* scope = OwnBlock(call.offset, name);
  if (scope == nullptr) return true;
  if (where) {
    Arguments args;
    if (!Bind(call, {"predicate"}, &args) || !Require(call, args, "predicate")) return true;
    Expr predicate = ReadCondition(*args["predicate"]);
    if (!predicate || !IsOutside(predicate, scope->block, args["predicate"]->offset)) return true;
    scope->predicate = scope->predicate ? And(scope->predicate, predicate) : predicate;
    *ok = true;
  } else if (attr) {
    Arguments args;
    if (!Bind(call, {"attrs"}, &args) || !Require(call, args, "attrs")) return true;
    *ok = ReadAnnotations(*args["attrs"], &scope->block.annotations);
  } else {
    bool& given = reads ? scope->has_reads : scope->has_writes;
    if (given) {
      Fail(call.offset, absl::StrCat("this block has T.", name, " already"));
      return true;
    }
    given = true;
    *ok = ReadRegions(call, reads ? &scope->block.reads : &scope->block.writes);
  }
  return true;
}

// v = T.axis.spatial(domain, binding)
bool FunctionReader::ReadAxis(const PyExpr& call, const std::string& name, const PyExpr& target) {
  if (OwnBlock(call.offset, name) == nullptr) return false;
  if (name == "axis.remap") return ReadRemap(call, target);
  const auto kind = ParseIterKind(std::string_view(name).substr(5));
  if (!kind) {
    return Fail(call.offset, absl::StrCat("T.", name,
                                          " is not known; expected T.axis.spatial, T.axis.reduce, "
                                          "T.axis.scan, T.axis.opaque or T.axis.remap"));
  }
  Arguments args;
  if (!Bind(call, {"dom", "binding", "dtype"}, &args) || !Require(call, args, "dom") ||
      !Require(call, args, "binding")) {
    return false;
  }
  const PyExpr& dom = *args["dom"];
  const bool pair = (dom.kind == Kind::kTuple || dom.kind == Kind::kList) && dom.items.size() == 2;
  Expr start = pair ? ReadIndex(*dom.items[0]) : Expr(0);
  Expr stop = start ? ReadIndex(pair ? *dom.items[1] : dom) : Expr();
  Expr binding = stop ? ReadIndex(*args["binding"]) : Expr();
  if (!binding) return false;
  DataType dtype = isa<IntImmNode>(binding) ? stop.dtype() : binding.dtype();
  if (args["dtype"] != nullptr) {
    if (!ReadTypeName(*args["dtype"], &dtype)) return false;
    if (!dtype.is_index()) return Fail(args["dtype"]->offset, "an iterator has type int32 or int64");
  }
  if (!dtype.is_scalar() || !stop.dtype().is_scalar() || !start.dtype().is_scalar()) {
    return Fail(call.offset, "an iterator and its domain are scalars");
  }
  for (Expr* e : {&start, &stop}) {
    if (e->dtype() == dtype) continue;
    if (!isa<IntImmNode>(*e)) {
      return Fail(dom.offset, absl::StrCat("the domain has type ", e->dtype().ToString(), ", the binding has type ",
                                           dtype.ToString()));
    }
    if (!ConvertImmediate(e, dtype, dom.offset)) return false;
  }
  for (const Expr& e : {start, stop}) {
    if (!IsOutside(e, blocks_.back()->block, dom.offset)) return false;
  }
  if (!IsOutside(binding, blocks_.back()->block, args["binding"]->offset)) return false;
  Range domain{start, IntervalExtent(start, stop)};
  if (IsOneValue(domain, binding)) domain.extent = Const(dtype, 1);
  return AddIterVar(target, std::move(domain), *kind, std::move(binding), dtype, call.offset);
}

// Domains, bindings and conditions have their values before the block has iterators.
bool FunctionReader::IsOutside(const Expr& e, const BlockNode::Fields& block, uint32_t offset) {
  for (const IterVar& iter : block.iter_vars) {
    if (!UsesVar(e, iter.var)) continue;
    return Fail(offset, absl::StrCat("'", iter.var.name(), "' is an iterator of this block, which has no value yet: ",
                                     "write what it is bound to"));
  }
  return true;
}

bool FunctionReader::AddIterVar(const PyExpr& target, Range domain, IterKind kind, Expr binding, DataType dtype,
                                uint32_t offset) {
  if (target.kind != Kind::kName) return Fail(target.offset, "expected the name of an iterator");
  if (isa<IntImmNode>(binding) && binding.dtype() != dtype && !ConvertImmediate(&binding, dtype, offset)) return false;
  BlockScope* scope = blocks_.back();
  Var var(target.text, dtype);
  scope->block.iter_vars.push_back({var, std::move(domain), kind});
  scope->bindings.push_back(std::move(binding));
  return Define(target.text, target.offset, Value{Expr(var)});
}

// vi, vj = T.axis.remap("SR", [i, j])
bool FunctionReader::ReadRemap(const PyExpr& call, const PyExpr& target) {
  Arguments args;
  std::string kinds;
  DataType given;  // TVM ignores it: an iterator has the type of its loop
  if (!Bind(call, {"kinds", "bindings", "dtype"}, &args) || !Require(call, args, "kinds") ||
      !Require(call, args, "bindings") || !ReadString(*args["kinds"], &kinds) ||
      (args["dtype"] != nullptr && !ReadTypeName(*args["dtype"], &given))) {
    return false;
  }
  const PyExpr& bindings = *args["bindings"];
  if (bindings.kind != Kind::kList && bindings.kind != Kind::kTuple) {
    return Fail(bindings.offset, "expected a list of loop variables");
  }
  std::vector<const PyExpr*> targets;
  if (target.kind == Kind::kTuple || target.kind == Kind::kList) {
    for (const PyExprPtr& item : target.items) targets.push_back(item.get());
  } else {
    targets.push_back(&target);
  }
  if (kinds.size() != bindings.items.size() || targets.size() != kinds.size()) {
    return Fail(call.offset, absl::StrCat("T.axis.remap has ", kinds.size(), " kinds and ", bindings.items.size(),
                                          " loop variables for ", targets.size(), " iterators"));
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = ParseIterKind(std::string_view(kinds).substr(i, 1));
    if (!kind) return Fail(args["kinds"]->offset, "expected a string of 'S', 'R' and 'O'");
    Expr binding = ReadExpr(*bindings.items[i]);
    if (!binding) return false;
    const auto range = loop_ranges_.find(binding.get());
    if (range == loop_ranges_.end()) {
      return Fail(bindings.items[i]->offset, "expected a loop variable; write T.axis.spatial(extent, value) instead");
    }
    const DataType dtype = binding.dtype();
    if (!AddIterVar(*targets[i], range->second, *kind, std::move(binding), dtype, call.offset)) return false;
  }
  return true;
}

bool FunctionReader::ReadRegions(const PyExpr& call, std::vector<BufferRegion>* out) {
  if (!call.keywords.empty()) return Fail(call.keyword_offsets[0], "unexpected keyword argument");
  for (size_t i = 1; i < call.items.size(); ++i) {
    const PyExpr& item = *call.items[i];
    const bool is_list = item.kind == Kind::kList || item.kind == Kind::kTuple;
    for (size_t j = 0; j < (is_list ? item.items.size() : 1); ++j) {
      BufferRegion region;
      if (!ReadRegion(is_list ? *item.items[j] : item, &region)) return false;
      out->push_back(std::move(region));
    }
  }
  return true;
}

bool FunctionReader::ReadRegion(const PyExpr& e, BufferRegion* out) {
  Value base;
  const bool subscript = e.kind == Kind::kSubscript;
  if (!Eval(subscript ? *e.items[0] : e, &base)) return false;
  const Buffer* buffer = base.As<Buffer>();
  if (buffer == nullptr) return Fail(e.offset, "expected a region of a buffer: A[i, 0:16]");
  if (!subscript) {
    *out = BufferRegion::Full(*buffer);
    return true;
  }
  // A[()] has one item, the empty tuple.
  const bool no_index = e.items.size() == 2 && e.items[1]->kind == Kind::kTuple && e.items[1]->items.empty();
  const size_t count = no_index ? 0 : e.items.size() - 1;
  if (count != (*buffer)->ndim()) {
    return Fail(e.offset, absl::StrCat("buffer '", (*buffer)->name, "' has ", (*buffer)->ndim(),
                                       " dimensions, the region has ", count));
  }
  out->buffer = *buffer;
  for (size_t i = 0; i < count; ++i) {
    const PyExpr& index = *e.items[i + 1];
    const Expr& extent = (*buffer)->shape[i];
    if (index.kind != Kind::kSlice) {
      Expr point = ReadIndex(index);
      if (!point) return false;
      if (!point.dtype().is_scalar()) return Fail(index.offset, "the index of a region is a scalar");
      out->region.push_back({point, Const(point.dtype(), 1)});
      continue;
    }
    if (index.items[2]) return Fail(index.items[2]->offset, "a region has no step");
    Expr start = index.items[0] ? ReadIndex(*index.items[0]) : Const(extent.dtype(), 0);
    Expr stop = index.items[1] ? ReadIndex(*index.items[1]) : extent;
    if (!start || !stop) return false;
    if (!start.dtype().is_scalar() || !stop.dtype().is_scalar()) {
      return Fail(index.offset, "the bounds of a region are scalars");
    }
    const bool constant = isa<IntImmNode>(start) && isa<IntImmNode>(stop);
    if (!constant && !Unify(&start, &stop, index.offset)) return false;
    Expr length = IntervalExtent(start, stop);
    if (const auto value = AsInt(length); value && *value < 0) return Fail(index.offset, "this region is negative");
    out->region.push_back({std::move(start), std::move(length)});
  }
  return true;
}

}  // namespace tilewright::script
