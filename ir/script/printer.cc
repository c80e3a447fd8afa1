#include "ir/script/printer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/script/buffer_printer.h"
#include "ir/script/expr_printer.h"
#include "ir/script/names.h"
#include "ir/script/sync_printer.h"
#include "ir/script/undefined.h"
#include "ir/structural.h"

namespace tilewright {
namespace script {
namespace {

bool ContainsBlock(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& stmt) {
    found = found || isa<BlockRealizeNode>(stmt);
    return !found;
  });
  return found;
}

bool SameRange(const Range& a, const Range& b) {
  return StructuralEqual(a.min, b.min) && StructuralEqual(a.extent, b.extent);
}

bool Uses(const Expr& e, const std::unordered_set<const VarNode*>& vars) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    const auto* var = dyn_cast<VarNode>(sub);
    found = found || (var != nullptr && vars.contains(var));
    return !found;
  });
  return found;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options)
      : options_(options),
        marked_(options.marked.begin(), options.marked.end()),
        exprs_(names_),
        buffers_(names_, exprs_) {}

  void PrintModule(const Module& module) {
    Line("# from tvm.script import ir as I");
    Line("# from tvm.script import tir as T");
    Line("");
    Line("@I.ir_module");
    Line("class Module:");
    Indented([&] {
      if (!module.attrs().empty()) Line(absl::StrCat("I.module_attrs(", exprs_.Text(module.attrs()), ")"));
      for (size_t i = 0; i < module.functions().size(); ++i) {
        if (i != 0) Line("");
        PrintFunction(module.functions()[i]);
      }
      if (module.functions().empty()) Line("pass");
    });
  }

  void PrintFunction(const Function& function);
  void PrintStmt(const Stmt& s, bool last);
  std::string Take() { return std::move(out_); }
  ExprPrinter& exprs() { return exprs_; }

 private:
  template <class Body>
  void Indented(const Body& body) {
    ++level_;
    names_.OpenScope();
    body();
    names_.CloseScope();
    --level_;
  }
  void Line(const std::string& text, bool marked = false) {
    if (text.empty()) {
      out_ += "\n";
      return;
    }
    const std::string indent(static_cast<size_t>(level_ * options_.indent), ' ');
    absl::StrAppend(&out_, indent, text, "\n");
    if (marked) absl::StrAppend(&out_, indent, "# ", std::string(std::max<size_t>(text.size(), 3) - 2, '^'), "\n");
  }
  bool IsMarked(const Node* node) const { return marked_.contains(node); }

  // "X = T.function(first, shape, ...)", after the lines that define its sizes.
  void DefineSizes(const Buffer& buffer);
  void PrintBuffer(const char* function, const std::string& first, const Buffer& buffer, bool needs_data = false,
                   bool explicit_type = false, bool explicit_scope = false);

  // Statements.
  void PrintBody(const Stmt& s) {
    Indented([&] { PrintStmt(s, true); });
  }
  void PrintFor(const ForNode* loop);
  void PrintLoop(const ForNode* loop);
  void PrintIf(const IfNode* op);
  void PrintStore(const StoreNode* op, bool marked);
  void PrintEvaluate(const Expr& value, bool marked);
  void PrintLet(const LetStmtNode* op, bool last, bool marked);
  void PrintDeclaration(const Stmt& s, bool last, bool marked);
  // "name = text" followed by `body` when nothing comes after it, else "with text as name:" around the body.
  void PrintCovering(const std::string& call, const std::string& name, const Stmt& body, bool last, bool marked);
  void PrintBlock(const BlockRealizeNode* realize);
  // "x = T.int32()" for a variable that an attribute or annotation mentions before its definition.
  void AnnounceUndefined(const Expr& e) {
    const auto* var = dyn_cast<VarNode>(e);
    if (var == nullptr || names_.IsDefined(var)) return;
    const std::string name = names_.Announce(var);
    Line(absl::StrCat(name, " = T.", var->dtype().ToString(), "()"));
  }
  void AnnounceUndefined(const Annotations& annotations) {
    for (const Expr& var : UndefinedVars(annotations, names_)) AnnounceUndefined(var);
  }
  void PrintAnnotations(const BlockNode& block) {
    AnnounceUndefined(block.annotations);
    Line(absl::StrCat("T.block_attr(", exprs_.Text(block.annotations), ")"));
  }
  // `with_annotations`: after the buffers of the block, which they mention.
  void PrintBlockBody(const BlockNode& block, bool with_annotations = false);
  void PrintIterVars(const BlockRealizeNode* realize);
  std::string Regions(const std::vector<BufferRegion>& regions);

  const PrintOptions& options_;
  const std::unordered_set<const Node*> marked_;
  Names names_;
  ExprPrinter exprs_;
  BufferPrinter buffers_;
  std::unordered_map<const VarNode*, Range> loop_ranges_;
  std::string out_;
  int level_ = 0;
};

void Printer::DefineSizes(const Buffer& buffer) {
  for (const VarNode* var : buffers_.SizesToDefine(buffer)) {
    const std::string name = names_.Define(var, var->name);
    Line(absl::StrCat(name, " = T.", var->dtype().ToString(), "()"));
  }
}

void Printer::PrintBuffer(const char* function, const std::string& first, const Buffer& buffer, bool needs_data,
                          bool explicit_type, bool explicit_scope) {
  DefineSizes(buffer);
  BufferTextOptions text_options;
  text_options.type = explicit_type;
  text_options.data = needs_data;
  text_options.scope = explicit_scope;
  std::string name;
  const std::string text = buffers_.Text(buffer, text_options, &name);
  Line(absl::StrCat(name, " = T.", function, "(", first, text, ")"));
}

// --- Functions.

void Printer::PrintFunction(const Function& function) {
  Line(function->is_private ? "@T.prim_func(private=True)" : "@T.prim_func", IsMarked(function.get()));
  Indented([&] {
    --level_;
    for (const Param& param : function->params) {
      if (!param.buffer) names_.Define(param.var.get(), param.var.name());
    }
    std::vector<const Param*> matched;
    std::string params;
    for (const Param& param : function->params) {
      if (!params.empty()) params += ", ";
      if (!param.buffer) {
        absl::StrAppend(&params, names_.TextOf(param.var.get()), ": T.", param.var.dtype().ToString());
      } else if (buffers_.IsSimple(param.buffer)) {
        std::string name;
        const std::string text = buffers_.Text(param.buffer, {.type = true}, &name);
        absl::StrAppend(&params, name, ": T.Buffer(", text, ")");
      } else {
        matched.push_back(&param);
        absl::StrAppend(&params, names_.Define(param.var.get(), param.var.name()), ": T.handle");
      }
    }
    Line(absl::StrCat("def ", MakeIdentifier(function->name), "(", params, "):"));
    Indented([&] {
      const bool late = UsesUndefined(function->attrs, names_);
      const std::string attrs =
          function->attrs.empty() || late ? "" : absl::StrCat("T.func_attr(", exprs_.Text(function->attrs), ")");
      if (!attrs.empty()) Line(attrs);
      for (const Param* param : matched) {
        PrintBuffer("match_buffer", absl::StrCat(names_.TextOf(param->var.get()), ", "), param->buffer);
      }
      if (late) {
        AnnounceUndefined(function->attrs);
        Line(absl::StrCat("T.func_attr(", exprs_.Text(function->attrs), ")"));
      }
      const auto* root = dyn_cast<BlockRealizeNode>(function->body);
      const BlockNode* block = root == nullptr ? nullptr : root->block.get();
      // The parser adds this block when it is not written.
      const auto* inner = block == nullptr ? nullptr : dyn_cast<BlockRealizeNode>(block->body);
      const bool implicit = block != nullptr && block->iter_vars.empty() && block->name == "root" &&
                            block->reads.empty() && block->writes.empty() && !block->init &&
                            block->match_buffers.empty() && block->annotations.empty() && IsTrue(root->predicate) &&
                            (!block->alloc_buffers.empty() ||
                             (ContainsBlock(block->body) && (inner == nullptr || !inner->block->iter_vars.empty())));
      if (implicit) {
        Line("# with T.block(\"root\"):", IsMarked(root) || IsMarked(block));
        PrintBlockBody(*block);
      } else {
        PrintStmt(function->body, true);
      }
    });
    ++level_;
  });
}

// --- Statements.

void Printer::PrintStmt(const Stmt& s, bool last) {
  const bool marked = IsMarked(s.get());
  switch (s->kind()) {
    case Kind::kFor:
      return PrintFor(cast<ForNode>(s));
    case Kind::kWhile: {
      const auto* op = cast<WhileNode>(s);
      Line(absl::StrCat("while ", exprs_.Text(op->condition), ":"), marked);
      return PrintBody(op->body);
    }
    case Kind::kIf:
      return PrintIf(cast<IfNode>(s));
    case Kind::kSeq: {
      const auto* op = cast<SeqNode>(s);
      for (size_t i = 0; i < op->stmts.size(); ++i) PrintStmt(op->stmts[i], last && i + 1 == op->stmts.size());
      return;
    }
    case Kind::kStore:
      return PrintStore(cast<StoreNode>(s), marked);
    case Kind::kEvaluate:
      return PrintEvaluate(cast<EvaluateNode>(s)->value, marked);
    case Kind::kLetStmt:
      return PrintLet(cast<LetStmtNode>(s), last, marked);
    case Kind::kAttrStmt: {
      const auto* op = cast<AttrStmtNode>(s);
      AnnounceUndefined(op->node);
      const std::string call =
          absl::StrCat("T.attr(", exprs_.Text(op->node), ", ", Quote(op->key), ", ", exprs_.Text(op->value), ")");
      return PrintCovering(call, "", op->body, last, marked);
    }
    case Kind::kAssert: {
      const auto* op = cast<AssertNode>(s);
      return Line(absl::StrCat("assert ", exprs_.Text(op->condition), ", ", Quote(op->message)), marked);
    }
    case Kind::kAllocate:
    case Kind::kDeclBuffer:
      return PrintDeclaration(s, last, marked);
    case Kind::kBlockRealize:
      return PrintBlock(cast<BlockRealizeNode>(s));
    case Kind::kSync:
      return Line(SyncText(cast<SyncNode>(s), exprs_), marked);
    default:
      return;
  }
}

void Printer::PrintEvaluate(const Expr& value, bool marked) {
  const std::string text = exprs_.Text(value);
  // Calls that do something stand alone; others, which may print as operators, do not.
  const auto* call = dyn_cast<CallNode>(value);
  const bool alone = call != nullptr && EffectOf(call->op) != CallEffect::kPure;
  Line(alone ? text : absl::StrCat("T.evaluate(", text, ")"), marked);
}

void Printer::PrintLet(const LetStmtNode* op, bool last, bool marked) {
  const std::string value = exprs_.Text(op->value);
  if (!last) names_.OpenScope();
  const std::string name = names_.Define(op->var.get(), op->var.name());
  if (last) {
    Line(absl::StrCat(name, ": T.", op->var.dtype().ToString(), " = ", value), marked);
    return PrintStmt(op->body, true);
  }
  PrintCovering(absl::StrCat("T.LetStmt(", value, ")"), name, op->body, false, marked);
  names_.CloseScope();
}

void Printer::PrintDeclaration(const Stmt& s, bool last, bool marked) {
  const auto* allocate = dyn_cast<AllocateNode>(s);
  const Buffer& buffer = allocate != nullptr ? allocate->buffer : cast<DeclBufferNode>(s)->buffer;
  const Stmt& body = allocate != nullptr ? allocate->body : cast<DeclBufferNode>(s)->body;
  if (!last) names_.OpenScope();
  DefineSizes(buffer);
  std::string name;
  std::string text = buffers_.Text(buffer, {.data = allocate == nullptr}, &name);
  if (allocate != nullptr && !allocate->annotations.empty()) {
    absl::StrAppend(&text, ", annotations=", exprs_.Text(allocate->annotations));
  }
  PrintCovering(absl::StrCat("T.decl_buffer(", text, ")"), name, body, last, marked);
  if (!last) names_.CloseScope();
}

void Printer::PrintCovering(const std::string& call, const std::string& name, const Stmt& body, bool last,
                            bool marked) {
  if (last) {
    Line(name.empty() ? call : absl::StrCat(name, " = ", call), marked);
    return PrintStmt(body, true);
  }
  Line(absl::StrCat("with ", call, name.empty() ? "" : absl::StrCat(" as ", name), ":"), marked);
  PrintBody(body);
}

void Printer::PrintFor(const ForNode* loop) {
  // The loops that one T.grid holds.
  std::vector<const ForNode*> loops;
  std::unordered_set<const VarNode*> vars;
  bool marked = false;
  for (const ForNode* next = loop; next != nullptr; next = dyn_cast<ForNode>(next->body)) {
    const bool plain = next->kind == ForKind::kSerial && next->annotations.empty() && IsInt(next->min, 0) &&
                       next->extent.dtype() == next->var.dtype();
    if (!plain || Uses(next->extent, vars)) break;
    loops.push_back(next);
    vars.insert(next->var.get());
    marked = marked || IsMarked(next);
  }
  if (loops.size() < 2) return PrintLoop(loop);
  names_.OpenScope();
  std::string targets, extents;
  for (const ForNode* each : loops) {
    const char* separator = targets.empty() ? "" : ", ";
    absl::StrAppend(&extents, separator, exprs_.Text(each->extent));
    absl::StrAppend(&targets, separator, names_.Define(each->var.get(), each->var.name()));
    loop_ranges_[each->var.get()] = {each->min, each->extent};
  }
  Line(absl::StrCat("for ", targets, " in T.grid(", extents, "):"), marked);
  PrintBody(loops.back()->body);
  names_.CloseScope();
}

void Printer::PrintLoop(const ForNode* loop) {
  AnnounceUndefined(loop->annotations);
  std::string range;
  if (!IsInt(loop->min, 0)) range = absl::StrCat(exprs_.Text(loop->min), ", ");
  range += exprs_.Stop(loop->min, loop->extent);
  const bool plain = loop->kind == ForKind::kSerial && loop->annotations.empty();
  if (loop->kind == ForKind::kThreadBound) absl::StrAppend(&range, ", thread=", Quote(loop->thread_tag));
  if (!loop->annotations.empty()) absl::StrAppend(&range, ", annotations=", exprs_.Text(loop->annotations));
  names_.OpenScope();
  const std::string name = names_.Define(loop->var.get(), loop->var.name());
  loop_ranges_[loop->var.get()] = {loop->min, loop->extent};
  Line(absl::StrCat("for ", name, " in ", plain ? "range" : absl::StrCat("T.", ForKindName(loop->kind)), "(", range,
                    "):"),
       IsMarked(loop));
  PrintBody(loop->body);
  names_.CloseScope();
}

void Printer::PrintIf(const IfNode* op) {
  const char* keyword = "if ";
  while (true) {
    Line(absl::StrCat(keyword, exprs_.Text(op->condition), ":"), IsMarked(op));
    PrintBody(op->then_case);
    if (!op->else_case) return;
    const auto* next = dyn_cast<IfNode>(op->else_case);
    if (next == nullptr) break;
    keyword = "elif ";
    op = next;
  }
  Line("else:");
  PrintBody(op->else_case);
}

void Printer::PrintStore(const StoreNode* op, bool marked) {
  const std::string name = names_.TextOf(op->buffer.get());
  if (!op->predicate) {
    return Line(absl::StrCat(name, exprs_.Indices(op->indices), " = ", exprs_.Text(op->value)), marked);
  }
  std::string indices;
  for (const Expr& index : op->indices) absl::StrAppend(&indices, indices.empty() ? "" : ", ", exprs_.Text(index));
  Line(absl::StrCat(name, ".vstore([", indices, "], ", exprs_.Text(op->value),
                    ", predicate=", exprs_.Text(op->predicate), ")"),
       marked);
}

// --- Blocks.

std::string Printer::Regions(const std::vector<BufferRegion>& regions) {
  std::string text;
  for (const BufferRegion& region : regions) absl::StrAppend(&text, text.empty() ? "" : ", ", exprs_.Text(region));
  return text;
}

void Printer::PrintBlock(const BlockRealizeNode* realize) {
  const BlockNode& block = *realize->block;
  Line(absl::StrCat("with T.block(", Quote(block.name), "):"), IsMarked(realize) || IsMarked(&block));
  Indented([&] {
    // Bindings are in terms of what is outside, so they are printed before the iterators get their names.
    PrintIterVars(realize);
    if (!IsTrue(realize->predicate)) Line(absl::StrCat("T.where(", exprs_.Text(realize->predicate), ")"));
    Line(absl::StrCat("T.reads(", Regions(block.reads), ")"));
    Line(absl::StrCat("T.writes(", Regions(block.writes), ")"));
    const bool late = UsesUndefined(block.annotations, names_);
    if (!late && !block.annotations.empty()) PrintAnnotations(block);
    PrintBlockBody(block, late);
  });
}

void Printer::PrintIterVars(const BlockRealizeNode* realize) {
  const BlockNode& block = *realize->block;
  std::string kinds, targets, bindings;
  size_t pending = 0;
  auto kind_letter = [](IterKind kind) {
    return kind == IterKind::kSpatial ? 'S' : kind == IterKind::kReduce ? 'R' : 'O';
  };
  auto print_single = [&](size_t i) {
    const IterVar& iter = block.iter_vars[i];
    const Expr& binding = realize->bindings[i];
    std::string domain = exprs_.Stop(iter.domain.min, iter.domain.extent);
    if (!IsInt(iter.domain.min, 0)) domain = absl::StrCat("(", exprs_.Text(iter.domain.min), ", ", domain, ")");
    const std::string binding_text = exprs_.Text(binding);
    const std::string name = names_.Define(iter.var.get(), iter.var.name());
    const bool typed = binding.dtype() != iter.var.dtype();
    Line(absl::StrCat(name, " = T.axis.", IterKindName(iter.kind), "(", domain, ", ", binding_text,
                      typed ? absl::StrCat(", dtype=\"", iter.var.dtype().ToString(), "\"") : "", ")"));
  };
  auto flush = [&](size_t end) {
    if (pending == 1) {
      print_single(end - 1);
    } else if (pending > 1) {
      for (size_t i = end - pending; i < end; ++i) {
        const char* separator = targets.empty() ? "" : ", ";
        absl::StrAppend(&bindings, separator, exprs_.Text(realize->bindings[i]));
        kinds += kind_letter(block.iter_vars[i].kind);
        absl::StrAppend(&targets, separator,
                        names_.Define(block.iter_vars[i].var.get(), block.iter_vars[i].var.name()));
      }
      Line(absl::StrCat(targets, " = T.axis.remap(\"", kinds, "\", [", bindings, "])"));
      kinds.clear();
      targets.clear();
      bindings.clear();
    }
    pending = 0;
  };
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const auto* var = dyn_cast<VarNode>(realize->bindings[i]);
    auto range = var == nullptr ? loop_ranges_.end() : loop_ranges_.find(var);
    const bool remaps = range != loop_ranges_.end() && SameRange(range->second, iter.domain) &&
                        iter.kind != IterKind::kScan && var->dtype() == iter.var.dtype();
    if (remaps) {
      ++pending;
    } else {
      flush(i);
      print_single(i);
    }
  }
  flush(block.iter_vars.size());
}

void Printer::PrintBlockBody(const BlockNode& block, bool with_annotations) {
  for (const Buffer& buffer : block.alloc_buffers) PrintBuffer("alloc_buffer", "", buffer);
  for (const MatchBuffer& match : block.match_buffers) {
    const Buffer& source = match.source.buffer;
    PrintBuffer("match_buffer", absl::StrCat(exprs_.Text(match.source), ", "), match.buffer, false,
                source->dtype != DataType::Float(32), source->scope.text() != "global");
  }
  if (with_annotations) PrintAnnotations(block);
  if (block.init) {
    Line("with T.init():");
    PrintBody(block.init);
  }
  PrintStmt(block.body, true);
}

}  // namespace
}  // namespace script

std::string Print(const Module& module, const PrintOptions& options) {
  script::Printer printer(options);
  printer.PrintModule(module);
  return printer.Take();
}
std::string Print(const Function& function, const PrintOptions& options) {
  script::Printer printer(options);
  printer.PrintFunction(function);
  return "# from tvm.script import tir as T\n\n" + printer.Take();
}
std::string Print(const Stmt& stmt, const PrintOptions& options) {
  script::Printer printer(options);
  printer.PrintStmt(stmt, true);
  return printer.Take();
}
std::string Print(const Expr& e) {
  script::Names names;
  return script::ExprPrinter(names).Text(e);
}
std::string PrintExtent(const Expr& e) {
  script::Names names;
  return script::ExprPrinter(names, DataType::Int(64)).Text(e);
}
std::string Print(const BufferRegion& region) {
  script::Names names;
  return script::ExprPrinter(names).Text(region);
}
std::string Print(const IndexMap& map) {
  script::Names names;
  return script::ExprPrinter(names).Text(map);
}

}  // namespace tilewright
