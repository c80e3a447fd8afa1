#include "graph/executor/sized_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "graph/ir/symbols.h"
#include "graph/sizes/size_program.h"
#include "graph/sizes/sized_arena.h"

namespace tilewright::graph {
namespace {

using Memory = SizedSequence::Memory;

Expr Product(const std::vector<Expr>& extents) {
  Expr product = Extent(1);
  for (const Expr& extent : extents) product = product * extent;
  return product;
}

absl::Status InValue(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("value ", name, ": ", status.message()));
}

class Planner {
 public:
  Planner(const PlannedFunction& function, const std::function<std::string(size_t)>& kernel_name)
      : function_(function), plan_(function.plan()), kernel_name_(kernel_name) {}

  absl::StatusOr<SizedPlan> Make(const std::vector<std::string>& results) {
    for (const Var& param : plan_.params) sizes_.AddInput(*cast<TensorTypeNode>(param->type)->shape);
    TW_RETURN_IF_ERROR(FindReads());
    TW_RETURN_IF_ERROR(RequireGuards(false));
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const absl::Status status = AddTensor(static_cast<int>(i));
      if (!status.ok()) return InValue(plan_.tensors[i].name, status);
    }
    TW_RETURN_IF_ERROR(RequireGuards(true));
    TW_RETURN_IF_ERROR(RequireParts());
    TW_RETURN_IF_ERROR(Place());
    AddParams(results);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      first_call_.push_back(sequence_.calls.size());
      const absl::Status status = AddCall(s);
      if (!status.ok()) return InValue(plan_.steps[s].name, status);
    }
    first_call_.push_back(sequence_.calls.size());
    for (const PlanLoop& loop : plan_.loops) {
      const absl::Status status = AddLoop(loop);
      if (!status.ok()) return InValue(loop.name, status);
    }
    AddCopies();
    sequence_.extents = sizes_.extents();
    sequence_.sizes = sizes_.sizes();
    sequence_.checks = sizes_.checks();
    return SizedPlan{std::move(sequence_), std::move(calls_)};
  }

 private:
  // Those of the inputs' symbols first, so that a refusal names what the caller gave; then those of the results'.
  absl::Status RequireGuards(bool all) {
    for (const Expr& guard : plan_.guards) {
      const std::vector<Symbol> symbols = FreeSymbols(std::vector<Expr>{guard});
      const bool known = std::ranges::all_of(symbols, [&](const Symbol& s) { return sizes_.Knows(s); });
      if (all || known) TW_RETURN_IF_ERROR(sizes_.Require(guard));
    }
    return absl::OkStatus();
  }

  // Elements of inputs that are whole extents of results: a caller who made room for these says them.
  absl::Status FindReads() {
    for (const int result : plan_.results) {
      for (const Expr& extent : plan_.tensors[static_cast<size_t>(result)].shape) {
        const auto read =
            std::ranges::find_if(plan_.reads, [&](const PlanRead& known) { return extent.same_as(known.symbol); });
        if (read == plan_.reads.end() || sizes_.Knows(read->symbol)) continue;
        sizes_.AddInput({extent});
        TW_ASSIGN_OR_RETURN(const Expr value, sizes_.Number(extent));
        sequence_.reads.push_back({read->param, read->element, value});
      }
    }
    return absl::OkStatus();
  }

  const std::vector<Expr>& shape(int tensor) const { return shapes_[static_cast<size_t>(tensor)]; }

  absl::Status AddTensor(int number) {
    const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(number)];
    const std::string about = absl::StrCat("value ", tensor.name);
    TW_ASSIGN_OR_RETURN(std::vector<Expr> written, sizes_.Written(tensor.shape));
    if (tensor.cast && tensor.cast->shape) {
      for (size_t d = 0; d < written.size(); ++d) {
        const Expr& extent = (*tensor.cast->shape)[d];
        const auto* symbol = dyn_cast<SymbolNode>(extent);
        if (symbol != nullptr && !sizes_.Knows(Symbol(symbol))) {
          sizes_.Define(Symbol(symbol), written[d]);
          continue;
        }
        TW_ASSIGN_OR_RETURN(const Expr expected, sizes_.Written(extent));
        TW_RETURN_IF_ERROR(sizes_.RequireWritten(written[d] == expected, about));
      }
    }
    for (const Expr& extent : written) TW_RETURN_IF_ERROR(sizes_.RequireWritten(extent >= Extent(0), about));
    const bool is_view = tensor.root != number;
    if (is_view && !tensor.is_part) {
      const Expr elements = Product(shape(tensor.root));
      TW_RETURN_IF_ERROR(sizes_.RequireWritten(Product(written) == elements, about));
    }
    bytes_.push_back(sizes_.NumberOf(arith::Simplify(Product(written) * Extent(tensor.dtype.bytes()))));
    shapes_.push_back(std::move(written));
    return absl::OkStatus();
  }

  // Parts lie inside of what they are parts of, and no two steps write to the same one.
  absl::Status RequireParts() {
    struct Written {
      int root;
      int64_t begin;
      Expr bytes;
    };
    std::vector<Written> all;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlanTensor& tensor = plan_.tensors[i];
      const Expr end = Extent(tensor.offset * tensor.dtype.bytes()) + bytes_[i];
      if (tensor.offset < 0) return absl::InternalError(absl::StrCat("value ", tensor.name, " begins before its root"));
      if (!tensor.is_part) continue;
      TW_RETURN_IF_ERROR(
          sizes_.RequireWritten(end <= bytes_[static_cast<size_t>(tensor.root)], absl::StrCat("value ", tensor.name)));
    }
    for (const PlanStep& step : plan_.steps) {
      for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
        const PlanTensor& seen = plan_.tensors[static_cast<size_t>(step.tensors[i])];
        all.push_back({seen.root, seen.offset * seen.dtype.bytes(), bytes_[static_cast<size_t>(step.tensors[i])]});
      }
    }
    std::ranges::sort(all, {}, [](const Written& part) { return std::pair(part.root, part.begin); });
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = i + 1; j < all.size() && all[j].root == all[i].root; ++j) {
        const Expr apart = Or(Extent(all[i].begin) + all[i].bytes <= Extent(all[j].begin),
                              Or(all[i].bytes == Extent(0), all[j].bytes == Extent(0)));
        TW_RETURN_IF_ERROR(
            sizes_.RequireWritten(apart, absl::StrCat("value ", plan_.tensors[static_cast<size_t>(all[i].root)].name)));
      }
    }
    return absl::OkStatus();
  }

  // What the functions that a step may call need, at most one of which is called.
  int64_t WorkspaceBytes(const PlanStep& step) const {
    const Kernel& kernel = function_.kernels()[static_cast<size_t>(step.program)];
    int64_t bytes = kernel.main.workspace_bytes;
    for (const KernelVersion& version : kernel.versions) bytes = std::max(bytes, version.function.workspace_bytes);
    if (!step.in_place) return bytes;
    const Kernel& in_place = function_.kernels()[static_cast<size_t>(step.in_place->program)];
    bytes = std::max(bytes, in_place.main.workspace_bytes);
    return bytes;
  }

  // Tenants of the arena: the tensors that live there, then the temporaries of each step that has some.
  absl::Status Place() {
    std::vector<SizedTenant> tenants;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlanTensor& tensor = plan_.tensors[i];
      if (tensor.root != static_cast<int>(i) || tensor.home != Home::kArena) continue;
      tenants.push_back({bytes_[i], tensor.first, tensor.last});
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const int64_t bytes = WorkspaceBytes(plan_.steps[s]);
      temporaries_.push_back(bytes > 0 ? std::optional(tenants.size()) : std::nullopt);
      if (bytes > 0) tenants.push_back({Extent(bytes), static_cast<int>(s), static_cast<int>(s)});
    }
    TW_ASSIGN_OR_RETURN(arena_, PlaceForAllSizes(tenants, sizes_));
    sequence_.workspace_bytes = arena_.bytes;
    return absl::OkStatus();
  }

  void AddParams(const std::vector<std::string>& results) {
    const auto add = [&](const std::string& name, int tensor) {
      const Buffer buffer({.name = CIdentifier(name),
                           .dtype = plan_.tensors[static_cast<size_t>(tensor)].dtype,
                           .shape = shape(tensor)});
      sequence_.params.push_back({tilewright::Var(CIdentifier(name), DataType::Handle()), buffer});
    };
    for (size_t i = 0; i < plan_.params.size(); ++i) add(plan_.params[i]->name, static_cast<int>(i));
    sequence_.num_inputs = plan_.params.size();
    for (size_t r = 0; r < plan_.results.size(); ++r) {
      add(r < results.size() ? results[r] : absl::StrCat("result", r), plan_.results[r]);
    }
  }

  SizedSequence::Argument TensorArgument(int tensor) {
    const PlanTensor& seen = plan_.tensors[static_cast<size_t>(tensor)];
    const PlanTensor& root = plan_.tensors[static_cast<size_t>(seen.root)];
    SizedSequence::Argument argument{.shape = sizes_.NumbersOf(shape(tensor))};
    switch (root.home) {
      case Home::kInput:
      case Home::kOutput:
        argument.memory = Memory::kParam;
        argument.at =
            Extent(root.index + (root.home == Home::kOutput ? static_cast<int64_t>(sequence_.num_inputs) : 0));
        break;
      case Home::kConstant:
        argument.memory = Memory::kConstants;
        argument.at = Extent(function_.constants().ConstantOffset(root.index));
        break;
      case Home::kArena:
        argument.memory = Memory::kWorkspace;
        argument.at = sizes_.NumberOf(arith::Simplify(arena_.offsets[static_cast<size_t>(root.index)] +
                                                      Extent(seen.offset * seen.dtype.bytes())));
        break;
    }
    return argument;
  }

  // The program's parameters take what they are given: kernels do not check it. The same as CheckProgramArguments.
  absl::Status RequireArguments(const PlanStep& step, const std::vector<Expr>& scalars) {
    const PrimFunc& program = plan_.programs[static_cast<size_t>(step.program)].program;
    if (step.tensors.size() + scalars.size() != program->params.size()) {
      return absl::InternalError(absl::StrCat("program ", program->name, " takes ", program->params.size(),
                                              " arguments, not ", step.tensors.size() + scalars.size()));
    }
    VarMap values;
    for (size_t i = 0; i < scalars.size(); ++i) {
      const Symbol& var = program->params[step.tensors.size() + i].var;
      values.emplace(var, CastTo(var.dtype(), scalars[i]));
    }
    std::vector<std::pair<Expr, Expr>> equal;
    for (size_t i = 0; i < step.tensors.size(); ++i) {
      const Buffer& buffer = program->params[i].buffer;
      const std::vector<Expr>& given = shape(step.tensors[i]);
      if (!buffer || buffer->ndim() != given.size()) {
        return absl::InternalError(absl::StrCat("program ", program->name, ": parameter ", i, " has another rank"));
      }
      for (size_t d = 0; d < given.size(); ++d) {
        const auto* var = dyn_cast<SymbolNode>(buffer->shape[d]);
        if (var != nullptr && !values.contains(Symbol(var))) {
          values.emplace(Symbol(var), CastTo(var->dtype(), given[d]));
          continue;
        }
        equal.emplace_back(buffer->shape[d], given[d]);
      }
    }
    for (const auto& [expected, given] : equal) {
      TW_RETURN_IF_ERROR(
          sizes_.RequireWritten(AsExtent(Substitute(expected, values)) == given, absl::StrCat("value ", step.name)));
    }
    return absl::OkStatus();
  }

  absl::Status AddCall(size_t number) {
    const PlanStep& step = plan_.steps[number];
    const auto program = static_cast<size_t>(step.program);
    const Kernel& kernel = function_.kernels()[program];
    SizedSequence::Call call{.function = kernel_name_(program), .workspace_offset = Extent(0)};
    for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
      call.written.push_back(bytes_[static_cast<size_t>(step.tensors[i])]);
    }
    const bool nothing = std::ranges::all_of(call.written, [](const Expr& bytes) { return AsInt(bytes) == 0; });
    if (nothing) return absl::OkStatus();
    TW_ASSIGN_OR_RETURN(const std::vector<Expr> scalars, sizes_.Written(step.scalars));
    TW_RETURN_IF_ERROR(RequireArguments(step, scalars));
    // What a kernel for another machine needs is known when it is compiled: its place is left to the back end.
    if (kernel.main.run == nullptr) {
      call.workspace_offset = Expr();
    } else if (temporaries_[number]) {
      call.workspace_offset = arena_.offsets[*temporaries_[number]];
      call.workspace_bytes = WorkspaceBytes(step);
    }
    call.arguments = ArgumentsOf(number, step.tensors, kernel, kernel.main, scalars);
    calls_.push_back({number, {&kernel.main}});
    if (step.in_place) AddInPlace(number, scalars, &call);
    for (size_t v = 0; v < kernel.versions.size(); ++v) {
      const KernelVersion& version = kernel.versions[v];
      SizedSequence::Version added{.function = VersionName(call.function, v),
                                   .arguments = ArgumentsOf(number, step.tensors, kernel, version.function, scalars)};
      if (!AddConditions(step, version, &added)) continue;
      call.versions.push_back(std::move(added));
      calls_.back().functions.push_back(&version.function);
    }
    sequence_.calls.push_back(std::move(call));
    return absl::OkStatus();
  }

  void AddInPlace(size_t number, const std::vector<Expr>& scalars, SizedSequence::Call* call) {
    const PlanStep& step = plan_.steps[number];
    const PlanStep::InPlace& in_place = *step.in_place;
    const auto index_of = [&](size_t position) {
      return static_cast<size_t>(plan_.tensors[static_cast<size_t>(step.tensors[position])].index);
    };
    const SizedSequence::SharedMemory shared = {index_of(in_place.read),
                                                sequence_.num_inputs + index_of(in_place.written)};
    const Kernel& kernel = function_.kernels()[static_cast<size_t>(in_place.program)];
    std::vector<int> tensors = step.tensors;
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(in_place.read));
    call->versions.push_back({.shared = {shared},
                              .function = kernel_name_(static_cast<size_t>(in_place.program)),
                              .arguments = ArgumentsOf(number, tensors, kernel, kernel.main, scalars)});
    calls_.back().functions.push_back(&kernel.main);
    sequence_.shared.push_back(shared);
  }

  std::vector<SizedSequence::Argument> ArgumentsOf(size_t number, const std::vector<int>& tensors, const Kernel& kernel,
                                                   const KernelFunction& function, const std::vector<Expr>& scalars) {
    std::vector<SizedSequence::Argument> arguments;
    for (const int param : function.params) {
      const auto position = static_cast<size_t>(param);
      if (param < 0) {
        const auto packed = static_cast<size_t>(~param);
        arguments.push_back({Memory::kConstants,
                             Extent(function_.constants().PackedOffset(static_cast<int>(number), ~param)),
                             Extents(kernel.packed[packed].shape)});
      } else if (position < tensors.size()) {
        arguments.push_back(TensorArgument(tensors[position]));
      } else {
        arguments.push_back({.memory = Memory::kScalar, .at = sizes_.NumberOf(scalars[position - tensors.size()])});
      }
    }
    return arguments;
  }

  // False: it fits no size.
  bool AddConditions(const PlanStep& step, const KernelVersion& version, SizedSequence::Version* added) {
    for (const KernelVersion::Extent& when : version.when) {
      const auto param = static_cast<size_t>(when.param), dim = static_cast<size_t>(when.dim);
      if (param >= step.tensors.size() || dim >= shape(step.tensors[param]).size()) return false;
      const Expr& extent = shape(step.tensors[param])[dim];
      if (const auto value = AsInt(extent)) {
        if (*value != when.extent) return false;
        continue;
      }
      added->when.emplace_back(sizes_.NumberOf(extent), when.extent);
    }
    return true;
  }

  absl::Status AddLoop(const PlanLoop& loop) {
    SizedSequence::Loop added{
        .first = first_call_[loop.first], .end = first_call_[loop.end], .loops_end = loop.loops_end};
    if (loop.count) {
      TW_ASSIGN_OR_RETURN(added.count, sizes_.Number(loop.count));
    }
    const auto memory_of = [&](int tensor) { return tensor < 0 ? std::nullopt : std::optional(MemoryOf(tensor)); };
    added.trips = memory_of(loop.trips);
    added.condition = memory_of(loop.condition);
    added.iteration = memory_of(loop.iteration);
    for (const auto& [moves, all] : {std::pair(&loop.start, &added.start), std::pair(&loop.before, &added.before),
                                     std::pair(&loop.after, &added.after)}) {
      for (const PlanLoop::Move& move : *moves) {
        TW_ASSIGN_OR_RETURN(SizedSequence::Move one, MoveOf(loop, move));
        all->push_back(std::move(one));
      }
    }
    sequence_.loops.push_back(std::move(added));
    return absl::OkStatus();
  }

  SizedSequence::Argument MemoryOf(int tensor) {
    SizedSequence::Argument argument = TensorArgument(tensor);
    argument.shape.clear();
    return argument;
  }

  // Both sides have the same extents, a row those behind the first of its array.
  absl::StatusOr<SizedSequence::Move> MoveOf(const PlanLoop& loop, const PlanLoop::Move& move) {
    std::vector<Expr> from = shape(move.from), to = shape(move.to);
    if (move.row == PlanLoop::Move::Row::kFrom) from.erase(from.begin());
    if (move.row == PlanLoop::Move::Row::kTo) to.erase(to.begin());
    if (from.size() != to.size()) return absl::InternalError("a loop moves values of different ranks");
    for (size_t d = 0; d < from.size(); ++d) {
      TW_RETURN_IF_ERROR(sizes_.RequireWritten(from[d] == to[d], absl::StrCat("value ", loop.name)));
    }
    const int whole = move.row == PlanLoop::Move::Row::kTo ? move.from : move.to;
    return SizedSequence::Move{.from = MemoryOf(move.from),
                               .to = MemoryOf(move.to),
                               .bytes = bytes_[static_cast<size_t>(whole)],
                               .row = move.row,
                               .reversed = move.reversed};
  }

  void AddCopies() {
    for (size_t r = 0; r < plan_.results.size(); ++r) {
      SizedSequence::Argument from = TensorArgument(plan_.results[r]);
      const auto to = static_cast<int64_t>(sequence_.num_inputs + r);
      if (from.memory == Memory::kParam && AsInt(from.at) == to) continue;
      sequence_.copies.push_back({std::move(from), to, bytes_[static_cast<size_t>(plan_.results[r])]});
    }
  }

  const PlannedFunction& function_;
  const ExecutablePlan& plan_;
  const std::function<std::string(size_t)>& kernel_name_;
  SizeProgram sizes_;
  std::vector<std::vector<Expr>> shapes_;  // by tensor, written
  std::vector<Expr> bytes_;                // by tensor
  SizedArena arena_;
  std::vector<std::optional<size_t>> temporaries_;  // by step: the tenant
  std::vector<size_t> first_call_;                  // by step: the calls before it
  SizedSequence sequence_;
  std::vector<SizedPlan::Call> calls_;
};

}  // namespace

absl::StatusOr<SizedPlan> PlanForAllSizes(const PlannedFunction& function,
                                          const std::function<std::string(size_t)>& kernel_name,
                                          const std::vector<std::string>& results) {
  return Planner(function, kernel_name).Make(results);
}

std::string VersionName(const std::string& name, size_t version) { return absl::StrCat(name, "_version", version); }

}  // namespace tilewright::graph
