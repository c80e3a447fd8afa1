#include "graph/fusion/share_kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "graph/fusion/program_form.h"
#include "graph/fusion/read_offsets.h"
#include "graph/ir/functor.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/iterations.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// Programs that are alike become one from this many on, with at most so many new parameters.
constexpr size_t kLeastAlike = 3, kMostParameters = 4;
// Statements that a program which is shared executes at most: some 100 us. Longer ones are worth their own code.
constexpr int64_t kMostStatements = int64_t{1} << 22;

// A program as it is called: with constants at these positions.
using Callee = std::pair<std::string, std::vector<int>>;

std::vector<int> ConstantsOf(const CallTirNode& call) {
  std::vector<int> constants;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (isa<ConstantNode>(call.args[i])) constants.push_back(static_cast<int>(i));
  }
  return constants;
}

// Whether a program only copies: a plan makes views of that, whose offsets it must know.
bool OnlyCopies(const PrimFunc& program) {
  bool copies = true;
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* store = dyn_cast<StoreNode>(stmt);
    if (store == nullptr || !copies) return copies;
    PreOrder(store->value, [&](const Expr& e) {
      const auto* call = dyn_cast<tilewright::CallNode>(e);
      copies &= isa<LoadNode>(e) || (call != nullptr && call->op == kIfThenElse);
      return copies && call != nullptr;
    });
    return copies;
  });
  return copies;
}

bool HasLittleToDo(const PrimFunc& program) {
  const PrimFunc bound = LikelySizes::Of(program).Bind(program);
  const auto statements = AsInt(StatementIterations(bound->body));
  return statements && *statements <= kMostStatements;
}

// Callees that are alike, and the offsets of each.
struct Alike {
  PrimFunc program;  // without offsets
  std::vector<int> constants;
  std::vector<std::pair<Callee, std::vector<int64_t>>> members;
};

class Groups {
 public:
  explicit Groups(const GraphModule& module) : module_(module) {}

  void Add(const CallTirNode& call) {
    const Callee callee(call.function, ConstantsOf(call));
    if (!seen_.emplace(callee, true).second) return;
    const PrimFunc program = module_.FindProgram(call.function);
    if (!program || !IsRegular(program) || OnlyCopies(program) || !HasLittleToDo(program)) return;
    ReadOffsets read = WithoutReadOffsets(program, callee.second);
    if (read.offsets.empty()) return;
    const uint64_t hash = tilewright::StructuralHash(read.program);
    for (const size_t number : by_hash_[hash]) {
      Alike& group = groups_[number];
      if (group.constants != callee.second || !tilewright::StructuralEqual(group.program, read.program)) continue;
      group.members.emplace_back(callee, std::move(read.offsets));
      return;
    }
    by_hash_[hash].push_back(groups_.size());
    groups_.push_back({read.program, callee.second, {{callee, std::move(read.offsets)}}});
  }
  const std::vector<Alike>& groups() const { return groups_; }

 private:
  const GraphModule& module_;
  std::map<Callee, bool> seen_;
  std::vector<Alike> groups_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash_;
};

class CallCollector : public Visitor {
 public:
  explicit CallCollector(Groups* groups) : groups_(*groups) {}

 protected:
  void VisitCallTir(const CallTirNode* call) override { groups_.Add(*call); }

 private:
  Groups& groups_;
};

// The parameters of a group: which one each offset becomes, and their values for each member.
struct OffsetParameters {
  std::vector<int> of_offset;
  std::vector<std::vector<int64_t>> values;  // by parameter, then by member
};

// Offsets that are equal in every member become one parameter, or none where all members have the same.
OffsetParameters ParametersOf(const Alike& group) {
  OffsetParameters parameters;
  for (size_t i = 0; i < group.members[0].second.size(); ++i) {
    std::vector<int64_t> values;
    for (const auto& member : group.members) values.push_back(member.second[i]);
    if (std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; })) {
      parameters.of_offset.push_back(-1);
      continue;
    }
    const auto known = std::ranges::find(parameters.values, values);
    parameters.of_offset.push_back(static_cast<int>(known - parameters.values.begin()));
    if (known == parameters.values.end()) parameters.values.push_back(std::move(values));
  }
  return parameters;
}

class CallSharer : public Mutator {
 public:
  CallSharer(BlockBuilder* builder, const std::vector<Alike>& groups) : Mutator(builder) {
    for (const Alike& group : groups) Share(group);
  }

 protected:
  absl::StatusOr<Value> MutateCallTir(const CallTirNode* call, const Value& self) override {
    const auto shared = shared_.find({call->function, ConstantsOf(*call)});
    if (shared == shared_.end()) return self;
    std::vector<Expr> symbols = call->symbols;
    for (const int64_t offset : shared->second.second) symbols.push_back(Const(DataType::Int(64), offset));
    return Value(CallTir(shared->second.first, call->args, call->out, std::move(symbols)));
  }

 private:
  void Share(const Alike& group) {
    if (group.members.size() < kLeastAlike) return;
    const OffsetParameters parameters = ParametersOf(group);
    if (parameters.values.empty() || parameters.values.size() > kMostParameters) return;
    const std::string& name = group.members[0].first.first;
    const PrimFunc program =
        WithOffsetParameters(builder().module().FindProgram(name), group.constants, parameters.of_offset);
    const std::string shared = builder().AddProgram(program, name);
    for (size_t m = 0; m < group.members.size(); ++m) {
      std::vector<int64_t> offsets;
      for (const std::vector<int64_t>& values : parameters.values) offsets.push_back(values[m]);
      shared_.emplace(group.members[m].first, std::make_pair(shared, std::move(offsets)));
    }
  }

  std::map<Callee, std::pair<std::string, std::vector<int64_t>>> shared_;  // program and offsets
};

}  // namespace

absl::StatusOr<GraphModule> ShareKernels(const GraphModule& module, const OpTable& ops) {
  Groups groups(module);
  CallCollector collector(&groups);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) collector.VisitFunction(entry.function);
  }
  BlockBuilder builder(&ops, module);
  CallSharer sharer(&builder, groups.groups());
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(sharer.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
