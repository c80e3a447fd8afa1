// Statements that cover what follows or what stands below `with`: attributes, launches, lets, declarations. And
// synchronization.
#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

std::optional<OwnerLevel> ParseOwner(std::string_view text) {
  static constexpr std::pair<std::string_view, OwnerLevel> kNames[] = {
      {"core", OwnerLevel::kCore},           {"thread", OwnerLevel::kThread}, {"warp", OwnerLevel::kWarp},
      {"warpgroup", OwnerLevel::kWarpgroup}, {"block", OwnerLevel::kBlock},   {"cluster", OwnerLevel::kCluster},
      {"device", OwnerLevel::kDevice}};
  for (const auto& [name, level] : kNames) {
    if (name == text) return level;
  }
  return std::nullopt;
}

}  // namespace

// with T.attr(C, ...): C = T.alloc_buffer(...): how TVM prints attributes of an allocation.
bool FunctionReader::EndsWithAllocation(const PyStmt& with) const {
  const PyStmt& last = with.body.back();
  if (last.kind != PyStmt::Kind::kAssign || last.target->kind != Kind::kName || !last.value) return false;
  const auto function = CalledName(*last.value);
  const bool allocates = function == "alloc_buffer" || function == "alloc_local" || function == "alloc_shared" ||
                         function == "allocate" || function == "decl_buffer";
  const PyExpr& call = *with.value;
  return allocates && call.items.size() > 1 && call.items[1]->kind == Kind::kName &&
         call.items[1]->text == last.target->text;
}

bool FunctionReader::ReadWith(const PyStmt& s, Segments& out) {
  const PyExpr& value = *s.value;
  const auto name = CalledName(value);
  if (name == "block" || name == "sblock") return ReadBlock(s, out);
  if (name == "init") return ReadInit(s);
  if (!name || !IsCovering(*name)) {
    return Fail(value.offset,
                "expected T.block, T.init, T.attr, T.launch_thread, T.LetStmt, T.allocate or "
                "T.decl_buffer after 'with'");
  }
  if (name == "attr" && EndsWithAllocation(s)) {
    // What is allocated below is used by the statements that follow.
    Segment segment;
    if (!ReadCovering(value, *name, nullptr, &segment.wrap)) return false;
    out.push_back(std::move(segment));
    for (const PyStmt& inner : s.body) {
      if (!ReadStmt(inner, out)) return false;
    }
    return true;
  }
  frames_.emplace_back();
  ++nesting_;
  const size_t open = open_loops_.size();
  std::function<Stmt(Stmt)> wrap;
  bool ok = ReadCovering(value, *name, s.target.get(), &wrap);
  Stmt body = ok ? ReadBody(s.body) : Stmt();
  LeaveFrame();
  --nesting_;
  open_loops_.resize(open);
  if (!body) return false;
  out.back().stmts.push_back(wrap(std::move(body)));
  return true;
}

bool FunctionReader::IsCovering(const std::string& name) const {
  return name == "attr" || name == "launch_thread" || name == "LetStmt" || name == "Bind" || name == "allocate" ||
         name == "decl_buffer" || name == "buffer_decl" || name == "Buffer" || IsLegacyCovering(name);
}

bool FunctionReader::ReadCovering(const PyExpr& call, const std::string& name, const PyExpr* target,
                                  std::function<Stmt(Stmt)>* wrap) {
  ++nesting_;  // the caller's body restores it
  if (target != nullptr && target->kind != Kind::kName) return Fail(target->offset, "expected a name");
  if (name == "launch_thread") return ReadLaunch(call, target, wrap);
  if (IsLegacyCovering(name)) return ReadLegacyCovering(call, name, target, wrap);
  if (name == "attr") {
    Arguments args;
    if (call.items.size() == 2 && call.items[1]->kind == Kind::kDict) {  // T.attr({"key": value}): on nothing
      Annotations attrs;
      if (!ReadAnnotations(*call.items[1], &attrs)) return false;
      for (const auto& [key, value] : attrs) {
        if (!std::holds_alternative<Expr>(value.value)) return Fail(call.offset, "expected a number or a string");
      }
      *wrap = [attrs](Stmt body) {
        for (const auto& [key, value] : attrs) {
          body = Stmt(new AttrStmtNode(Expr(0), key, std::get<Expr>(value.value), std::move(body)));
        }
        return body;
      };
      return true;
    }
    if (!Bind(call, {"node", "attr_key", "value"}, &args)) return false;
    for (const char* argument : {"node", "attr_key", "value"}) {
      if (!Require(call, args, argument)) return false;
    }
    std::string key;
    if (!ReadString(*args["attr_key"], &key)) return false;
    if (CalledName(*args["node"]) == "iter_var" && (key == "thread_extent" || key == "virtual_thread")) {
      return ReadThreadAttribute(*args["node"], *args["value"], wrap);
    }
    Expr node = ReadData(*args["node"]);
    Announce(node);
    Expr value = node ? ReadExpr(*args["value"]) : Expr();
    if (!value) return false;
    *wrap = [node, key, value](Stmt body) { return Stmt(new AttrStmtNode(node, key, value, std::move(body))); };
    return true;
  }
  if (target == nullptr) return Fail(call.offset, absl::StrCat("expected a name for the result of T.", name));
  if (name == "LetStmt" || name == "Bind") {
    Arguments args;
    if (!Bind(call, {"value"}, &args) || !Require(call, args, "value")) return false;
    Expr value = ReadExpr(*args["value"]);
    if (!value) return false;
    Var var = TakeAnnounced(target->text, value.dtype());
    *wrap = [var, value](Stmt body) { return LetStmt(var, value, std::move(body)); };
    return Define(target->text, target->offset, Value{Expr(var)});
  }
  return ReadDeclaration(call, name, target, wrap);
}

bool FunctionReader::ReadLaunch(const PyExpr& call, const PyExpr* target, std::function<Stmt(Stmt)>* wrap) {
  Arguments args;
  if (!Bind(call, {"thread", "extent"}, &args) || !Require(call, args, "thread") || !Require(call, args, "extent")) {
    return false;
  }
  Value thread;
  if (!Eval(*args["thread"], &thread)) return false;
  Expr extent = ReadIndex(*args["extent"]);
  if (!extent) return false;
  const auto* tag = thread.As<std::string>();
  const auto* env = thread.As<EnvThread>();
  // TVM does not print which thread it is when an attribute has named the variable before.
  const auto* var = thread.As<Expr>() == nullptr ? nullptr : dyn_cast<VarNode>(*thread.As<Expr>());
  const bool announced = var != nullptr && announced_.contains(var) && var->dtype() == extent.dtype();
  if (tag == nullptr && env == nullptr && !announced) {
    return Fail(args["thread"]->offset, "expected a thread such as \"threadIdx.x\" or the result of T.env_thread");
  }
  ForNode::Fields loop;
  loop.kind = ForKind::kThreadBound;
  if (!announced) loop.thread_tag = tag != nullptr ? *tag : env->tag;
  loop.extent = extent;
  std::string name = target != nullptr ? target->text : args["thread"]->text;
  if (target == nullptr && env == nullptr) name = "thread";
  loop.var = announced ? TakeAnnounced(args["thread"]->text, extent.dtype()) : Var(name, extent.dtype());
  loop_ranges_[loop.var.get()] = {Const(extent.dtype(), 0), extent};
  open_loops_.push_back(loop.var);
  // A launched env_thread is known under its own name from here on.
  if (env != nullptr) frames_.back().insert_or_assign(args["thread"]->text, Value{Expr(loop.var)});
  *wrap = [loop](Stmt body) {
    ForNode::Fields fields = loop;
    fields.body = std::move(body);
    return For(std::move(fields));
  };
  return target == nullptr || Define(target->text, target->offset, Value{Expr(loop.var)});
}

bool FunctionReader::ReadSync(const PyExpr& call, const std::string& name, Stmt* out) {
  auto make = [&](SyncKind kind, std::string_view memory, OwnerLevel participants, Expr operand = {},
                  Expr object = {}) {
    *out = Stmt(new SyncNode(kind, Scope::Parse(memory), participants, std::move(operand), std::move(object)));
    return true;
  };
  Arguments args;
  if (name == "tvm_storage_sync" || name == "storage_sync") {
    std::string memory;
    if (!Bind(call, {"storage_scope", "is_load", "num_blocks", "dtype"}, &args) ||
        !Require(call, args, "storage_scope"))
      return false;
    if (!ReadString(*args["storage_scope"], &memory)) return false;
    if (memory == "warp") return make(SyncKind::kBarrier, "shared", OwnerLevel::kWarp);
    if (!Scope::Valid(memory)) return Fail(args["storage_scope"]->offset, "expected a storage scope");
    return make(SyncKind::kBarrier, memory, memory == "global" ? OwnerLevel::kDevice : OwnerLevel::kBlock);
  }
  if (name == "ptx_commit_group") {
    return Bind(call, {"dtype"}, &args) && make(SyncKind::kAsyncCommit, "shared", OwnerLevel::kThread);
  }
  if (name == "ptx_wait_group") {
    if (!Bind(call, {"num", "dtype"}, &args) || !Require(call, args, "num")) return false;
    Expr groups = ReadExpr(*args["num"]);
    return groups && make(SyncKind::kAsyncWait, "shared", OwnerLevel::kThread, groups);
  }
  static constexpr std::pair<std::string_view, SyncKind> kKinds[] = {{"barrier", SyncKind::kBarrier},
                                                                     {"async_commit", SyncKind::kAsyncCommit},
                                                                     {"async_wait", SyncKind::kAsyncWait},
                                                                     {"arrive", SyncKind::kArrive},
                                                                     {"wait", SyncKind::kWait}};
  for (const auto& [kind_name, kind] : kKinds) {
    if (kind_name != name) continue;
    std::string memory, participants;
    if (!Bind(call, {"memory", "participants", "operand", "object"}, &args)) return false;
    if (!Require(call, args, "memory") || !Require(call, args, "participants")) return false;
    if (!ReadString(*args["memory"], &memory) || !ReadString(*args["participants"], &participants)) return false;
    if (!Scope::Valid(memory)) return Fail(args["memory"]->offset, "expected a storage scope");
    const auto owner = ParseOwner(participants);
    if (!owner) {
      return Fail(args["participants"]->offset, "expected core, thread, warp, warpgroup, block, cluster or device");
    }
    Expr operand, object;
    if (args["operand"] != nullptr && !(operand = ReadExpr(*args["operand"]))) return false;
    if (args["object"] != nullptr && !(object = ReadData(*args["object"]))) return false;
    return make(kind, memory, *owner, std::move(operand), std::move(object));
  }
  return true;
}

}  // namespace tilewright::script
