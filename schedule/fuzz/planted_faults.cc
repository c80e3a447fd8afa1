#include "schedule/fuzz/planted_faults.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/regions.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "ir/testing/random_program.h"
#include "schedule/core/random.h"
#include "schedule/fuzz/drawer.h"
#include "schedule/fuzz/families.h"
#include "schedule/fuzz/moves.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

// Changes one of the places that `make` has an answer for.
class ChangeOne : public Mutator {
 public:
  using Mutator::Mutate;
  using OfExpr = std::function<Expr(const Expr&)>;  // null: no place
  using OfStmt = std::function<Stmt(const Stmt&)>;

  static std::optional<Function> Apply(const Function& function, Random& random, OfExpr of_expr, OfStmt of_stmt) {
    ChangeOne count(of_expr, of_stmt, -1);
    count.Mutate(function->body);
    if (count.places_ == 0) return std::nullopt;
    const auto at = static_cast<int64_t>(random.Below(static_cast<uint64_t>(count.places_)));
    ChangeOne change(std::move(of_expr), std::move(of_stmt), at);
    return function.WithBody(change.Mutate(function->body), function->next_id);
  }

  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    if (of_expr_) {
      if (const Expr changed = of_expr_(e); changed && places_++ == at_) return changed;
    }
    return Mutator::Mutate(e);
  }
  Stmt Mutate(const Stmt& s) override {
    if (!s) return s;
    if (of_stmt_) {
      if (const Stmt changed = of_stmt_(s); changed && places_++ == at_) return changed;
    }
    return Mutator::Mutate(s);
  }
  // Regions are what blocks say of themselves; faults are planted in what they do.
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = block->fields();
    fields.init = Mutate(block->init);
    fields.body = Mutate(block->body);
    return Block(std::move(fields));
  }

 private:
  ChangeOne(OfExpr of_expr, OfStmt of_stmt, int64_t at)
      : of_expr_(std::move(of_expr)), of_stmt_(std::move(of_stmt)), at_(at) {}
  const OfExpr of_expr_;
  const OfStmt of_stmt_;
  const int64_t at_;
  int64_t places_ = 0;
};

std::optional<Function> ChangeIndex(const Function& function, Random& random,
                                    const std::function<Expr(const Expr&)>& change) {
  const uint64_t pick = random.Below(8);
  const auto changed = [&](std::vector<Expr> indices) {
    Expr& index = indices[pick % indices.size()];
    index = change(index);
    return indices;
  };
  const auto is_plain = [](const std::vector<Expr>& indices) {
    return !indices.empty() && std::ranges::all_of(indices, [](const Expr& e) { return e.dtype().is_scalar(); });
  };
  return ChangeOne::Apply(
      function, random,
      [&](const Expr& e) -> Expr {
        const auto* load = dyn_cast<LoadNode>(e);
        return load == nullptr || !is_plain(load->indices) ? Expr() : load->buffer.Load(changed(load->indices));
      },
      [&](const Stmt& s) -> Stmt {
        const auto* store = dyn_cast<StoreNode>(s);
        if (store == nullptr || !is_plain(store->indices)) return {};
        return Store(store->buffer, store->value, changed(store->indices));
      });
}

std::optional<Function> MoveIndex(const Function& function, Random& random) {
  const int by = static_cast<int>(random.Below(5)) - 2;
  return ChangeIndex(function, random, [&](const Expr& e) { return e + Const(e.dtype(), by == 0 ? 7 : by); });
}
std::optional<Function> ScaleIndex(const Function& function, Random& random) {
  const bool up = random.Below(2) == 0;
  return ChangeIndex(function, random,
                     [&](const Expr& e) { return up ? e * Const(e.dtype(), 2) : FloorDiv(e, Const(e.dtype(), 2)); });
}

std::vector<Buffer> Allocated(const Function& function) {
  std::vector<Buffer> buffers;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      std::ranges::copy(realize->block->alloc_buffers, std::back_inserter(buffers));
    }
    return true;
  });
  return buffers;
}

std::optional<Function> ShrinkAnyBuffer(const Function& function, Random& random) {
  std::vector<Buffer> buffers = Allocated(function);
  for (const Param& param : function->params) {
    if (param.buffer) buffers.push_back(param.buffer);
  }
  std::erase_if(buffers, [](const Buffer& b) { return b->ndim() == 0 || !b->strides.empty() || b->layout; });
  if (buffers.empty()) return std::nullopt;
  const Buffer& buffer = buffers[random.Below(buffers.size())];
  BufferNode::Fields fields = buffer->fields();
  Expr& extent = fields.shape[random.Below(fields.shape.size())];
  const auto value = AsInt(extent);
  if (!value || *value < 2) return std::nullopt;
  extent = Const(extent.dtype(), *value - 1);
  fields.data = Var(buffer->data.name(), buffer->data.dtype());
  const Buffer smaller(std::move(fields));
  FunctionNode::Fields changed = function->fields();
  for (Param& param : changed.params) {
    if (param.buffer && param.buffer.same_as(buffer)) param.buffer = smaller;
  }
  changed.body = Substitute(function->body, {}, {{buffer, smaller}});
  return Function(std::move(changed));
}

std::optional<Function> LengthenLoop(const Function& function, Random& random) {
  const int by = static_cast<int>(random.Below(3)) + 1;
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr) return {};
    ForNode::Fields fields = loop->fields();
    fields.extent = loop->extent + Const(loop->extent.dtype(), by);
    return For(std::move(fields));
  });
}

// Iterators and the loops that they are, both longer.
std::optional<Function> WidenDomain(const Function& function, Random& random) {
  const uint64_t pick = random.Below(8);
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->block->iter_vars.empty()) return {};
    BlockNode::Fields fields = realize->block->fields();
    Range& domain = fields.iter_vars[pick % fields.iter_vars.size()].domain;
    domain.extent = domain.extent + Const(domain.extent.dtype(), 1);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  });
}

std::optional<Function> LoosenCondition(const Function& function, Random& random) {
  const uint64_t how = random.Below(3);
  const auto loosened = [&](const Expr& condition) -> Expr {
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (how == 0 || op == nullptr) return True();
    if (IsLogic(op->op)) return how == 1 ? op->a : op->b;
    if (!op->a.dtype().is_index() || op->op == BinaryOp::kNE || op->op == BinaryOp::kEQ) return True();
    const bool less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
    return MakeBinary(op->op, op->a, less ? op->b + 1 : op->b - 1);
  };
  return ChangeOne::Apply(
      function, random,
      [&](const Expr& e) -> Expr {
        const auto* call = dyn_cast<CallNode>(e);
        if (call == nullptr || call->op != "if_then_else" || !call->args[0].dtype().is_scalar()) return {};
        return Call(call->dtype(), call->op, {loosened(call->args[0]), call->args[1], call->args[2]});
      },
      [&](const Stmt& s) -> Stmt {
        if (const auto* branch = dyn_cast<IfNode>(s)) {
          return Stmt(new IfNode(loosened(branch->condition), branch->then_case, branch->else_case));
        }
        const auto* realize = dyn_cast<BlockRealizeNode>(s);
        if (realize == nullptr || IsTrue(realize->predicate)) return {};
        return Realize(realize->bindings, loosened(realize->predicate), realize->block);
      });
}

// A block that is left out where it should run: at the first value of a binding, at one of them, at every second one.
std::optional<Function> TightenCondition(const Function& function, Random& random) {
  const uint64_t pick = random.Below(8), how = random.Below(4), by = random.Below(4) + 1;
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->bindings.empty()) return {};
    const size_t at = pick % realize->bindings.size();
    const Expr& binding = realize->bindings[at];
    const Expr number = Const(binding.dtype(), static_cast<int64_t>(by));
    const Expr two = Const(binding.dtype(), 2), begin = realize->block->iter_vars[at].domain.min;
    const Expr conditions[] = {begin + number <= binding, binding != begin + number - 1,
                               FloorMod(binding + number, two) < number, binding < number};
    const Expr predicate = realize->predicate ? realize->predicate : True();
    return Realize(realize->bindings, And(predicate, conditions[how]), realize->block);
  });
}

// An iterator that begins elsewhere: behind its first value, at the end, or at its second value to end with the first.
std::optional<Function> MoveBinding(const Function& function, Random& random) {
  const uint64_t pick = random.Below(8), how = random.Below(4);
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->bindings.empty()) return {};
    BlockNode::Fields fields = realize->block->fields();
    const size_t at = pick % realize->bindings.size();
    Range& domain = fields.iter_vars[at].domain;
    std::vector<Expr> bindings = realize->bindings;
    const Expr one = Const(bindings[at].dtype(), 1);
    const Expr reversed = domain.min * 2 + domain.extent - 1 - bindings[at];
    const Expr rotated = domain.min + FloorMod(bindings[at] - domain.min + one, domain.extent);
    bindings[at] = how == 0 ? reversed : how == 1 ? rotated : bindings[at] + one;
    if (how == 2) domain.extent = domain.extent + one;
    if (how == 3) domain.min = domain.min + one;
    return Realize(std::move(bindings), realize->predicate, Block(std::move(fields)));
  });
}

std::optional<Function> DropInit(const Function& function, Random& random) {
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || !realize->block->init) return {};
    BlockNode::Fields fields = realize->block->fields();
    fields.init = Stmt();
    AccessRegions found = DetectRegions(*Block(fields));
    fields.reads = std::move(found.reads);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  });
}

std::optional<Function> RunAtOnce(const Function& function, Random& random) {
  const bool parallel = random.Below(2) == 0;
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr || loop->kind != ForKind::kSerial) return {};
    ForNode::Fields fields = loop->fields();
    fields.kind = parallel ? ForKind::kParallel : ForKind::kVectorized;
    return For(std::move(fields));
  });
}

std::optional<Function> DropStatement(const Function& function, Random& random) {
  const uint64_t pick = random.Below(8);
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* seq = dyn_cast<SeqNode>(s);
    if (seq == nullptr) return {};
    std::vector<Stmt> stmts = seq->stmts;
    stmts.erase(stmts.begin() + static_cast<ptrdiff_t>(pick % stmts.size()));
    return Sequence(std::move(stmts));
  });
}

std::optional<Function> SwapStatements(const Function& function, Random& random) {
  const uint64_t pick = random.Below(8);
  return ChangeOne::Apply(function, random, {}, [&](const Stmt& s) -> Stmt {
    const auto* seq = dyn_cast<SeqNode>(s);
    if (seq == nullptr) return {};
    std::vector<Stmt> stmts = seq->stmts;
    const size_t at = pick % (stmts.size() - 1);
    std::swap(stmts[at], stmts[at + 1]);
    return Sequence(std::move(stmts));
  });
}

// Some of the outermost loops run over blocks or threads, and some of the loops in them over threads.
class Binder : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Binder(Random* random) : random_(random) {}
  bool bound = false;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    constexpr const char* kTags[] = {"blockIdx.x", "threadIdx.x"};
    const size_t outer = next_;
    if (next_ == 0 && random_->Below(2) == 0) next_ = 1;
    if (op->kind != ForKind::kSerial || next_ >= std::size(kTags) || random_->Below(4) == 0) {
      const Stmt same = StmtMutator::MutateFor(op, self);
      next_ = outer;
      return same;
    }
    ForNode::Fields fields = op->fields();
    fields.kind = ForKind::kThreadBound;
    fields.thread_tag = kTags[next_++];
    bound = true;
    fields.body = Mutate(op->body);
    next_ = outer;
    return For(std::move(fields));
  }

 private:
  Random* random_;
  size_t next_ = 0;  // of the tags
};

std::optional<Function> BindLoops(const Function& function, Random& random) {
  Binder binder(&random);
  const Stmt body = binder.Mutate(function->body);
  return binder.bound ? std::optional(function.WithBody(body, function->next_id)) : std::nullopt;
}

// Memory that each thread, warp or block has of its own, in a program that runs on several of them.
std::optional<Function> NarrowScope(const Function& function, Random& random) {
  constexpr const char* kScopes[] = {"local", "register", "warp", "shared"};
  const std::vector<Buffer> buffers = Allocated(function);
  if (buffers.empty()) return std::nullopt;
  const Buffer& buffer = buffers[random.Below(buffers.size())];
  BufferNode::Fields fields = buffer->fields();
  fields.scope = Scope::Parse(kScopes[random.Below(std::size(kScopes))]);
  fields.data = Var(buffer->data.name(), buffer->data.dtype());
  const Stmt body = Substitute(function->body, {}, {{buffer, Buffer(std::move(fields))}});
  return BindLoops(function.WithBody(body, function->next_id), random);
}

struct Fault {
  const char* name;
  std::optional<Function> (*plant)(const Function&, Random&);
};
constexpr Fault kFaults[] = {
    {"moved index", MoveIndex},
    {"scaled index", ScaleIndex},
    {"smaller buffer", ShrinkAnyBuffer},
    {"longer loop", LengthenLoop},
    {"wider domain", WidenDomain},
    {"looser condition", LoosenCondition},
    {"dropped init", DropInit},
    {"at once", RunAtOnce},
    {"dropped statement", DropStatement},
    {"swapped statements", SwapStatements},
    {"bound loops", BindLoops},
    {"narrower scope", NarrowScope},
    {"tighter condition", TightenCondition},
    {"moved binding", MoveBinding},
};

// With the regions of all blocks without blocks inside found anew, so that what they do is what they declare.
Function WithFoundRegions(const Function& function) {
  const Stmt body = RewriteStmt(function->body, [](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->block->name == "root") return s;
    BlockNode::Fields fields = realize->block->fields();
    AccessRegions found = DetectRegions(*Block(fields));
    fields.reads = std::move(found.reads);
    fields.writes = std::move(found.writes);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  });
  return function.WithBody(body, function->next_id);
}

// What the interpreter finds; empty when nothing, or what it cannot run.
std::string FaultOf(const Function& function, uint64_t seed) {
  const int64_t size = seed % 4 == 0 ? 0 : 5;  // of extents that are parameters
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(size);
      continue;
    }
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) {
      const Expr known = arith::Simplify(
          RewriteExpr(extent, [&](const Expr& e) { return isa<VarNode>(e) ? Const(e.dtype(), size) : e; }));
      shape.push_back(AsInt(known).value_or(1));
      if (shape.back() < 0) return "";
    }
    NDArray array(param.buffer->dtype, std::move(shape));
    FillIntegers(array, seed * 1000 + arguments.size());
    arguments.emplace_back(std::move(array));
  }
  const absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  if (!program.ok()) return "";
  const absl::Status status = program->Run(arguments, {.max_steps = 1 << 20});
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
      return std::string(status.message());
    default:
      return "";
  }
}

bool Names(const VerifyResult& verified, const std::string& wrong) {
  // Values are not what verify is about.
  if (wrong.find("overflow") != std::string::npos) return true;
  return std::ranges::any_of(verified.diagnostics, [&](const Diagnostic& d) {
    if (d.verdict != Verdict::kAssumed) return false;
    if (std::string_view(d.check) == "division") return wrong.find("zero") != std::string::npos;
    // "block B reads A[P[vi]], whose place ...", "reads S, whose elements ..." or "the init of block B is taken to set
    // all of S[0:4]": what goes wrong is about that buffer.
    for (const char* verb : {" reads ", " writes ", " set all of "}) {
      const size_t at = d.reason.find(verb);
      if (at == std::string::npos) continue;
      const size_t name = at + std::string_view(verb).size();
      const size_t end = d.reason.find_first_of("[,", name);
      if (end != std::string::npos && wrong.find(d.reason.substr(name, end - name) + "[") != std::string::npos)
        return true;
    }
    return false;
  });
}

}  // namespace

void PlantedFaults::One(uint64_t seed, const std::vector<Function>& programs) {
  Random random(seed);
  Function program;
  if (random.Below(3) == 0) {
    program = RandomProgram(random.Next(), {.max_stages = 3, .max_extent = 6, .all_constructs = true});
  } else {
    program = programs[random.Below(programs.size())];
    Drawer drawer(program, random.Next(), nullptr);
    for (uint64_t moves = random.Below(4); moves > 0 && drawer.Look(); --moves) {
      const std::span<const Move> all = Moves();
      all[random.Below(all.size())].draw(drawer);
    }
    program = drawer.schedule().module().Main();
  }
  const Fault& fault = kFaults[random.Below(std::size(kFaults))];
  std::optional<Function> planted = fault.plant(program, random);
  if (!planted) return;
  if (random.Below(2) == 0) planted = WithFoundRegions(*planted);
  const VerifyResult verified = VerifyProgram(*planted);
  const std::string wrong = FaultOf(*planted, seed);
  Counts& counts = counts_[fault.name];
  if (Worst(verified.diagnostics) == Verdict::kRefuted) {
    ++counts.refused;
    counts.harmless += wrong.empty();
    return;
  }
  ++counts.accepted;
  if (wrong.empty()) return;
  if (Names(verified, wrong)) {
    ++counts.named;
    return;
  }
  ++counts.missed;
  missed_.push_back({seed, fault.name, wrong, Print(*planted)});
}

void PlantedFaults::Run() {
  std::vector<Function> programs;
  for (const Family& family : Families()) {
    programs.insert(programs.end(), family.programs.begin(), family.programs.end());
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int64_t i = 0; i < options_.count && elapsed() < options_.seconds; ++i) {
    One(options_.seed + static_cast<uint64_t>(i), programs);
  }
}

std::string PlantedFaults::Report() const {
  std::string text =
      absl::StrFormat("%-20s%10s%10s%10s%10s%10s\n", "fault", "refused", "harmless", "accepted", "named", "missed");
  for (const auto& [name, counts] : counts_) {
    absl::StrAppendFormat(&text, "%-20s%10d%10d%10d%10d%10d\n", name, counts.refused, counts.harmless, counts.accepted,
                          counts.named, counts.missed);
  }
  return text;
}

}  // namespace tilewright::fuzz
