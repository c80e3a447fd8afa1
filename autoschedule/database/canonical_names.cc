#include "autoschedule/database/canonical_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "schedule/core/refusal.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

constexpr char kMain[] = "main";

// By the names that functions have, those that they get.
std::map<std::string, std::string> FunctionNames(const Module& module) {
  std::map<std::string, std::string> names;
  const Function main = module.Main();
  if (main) names.emplace(main->name, kMain);
  const Function pack = main ? module.PrepackOf(main->name) : Function();
  if (pack) names.emplace(pack->name, absl::StrCat(kMain, "_prepack"));
  int others = 0;
  for (const Function& function : module.functions()) {
    if (!names.contains(function->name)) names.emplace(function->name, absl::StrCat("f", others++));
  }
  return names;
}

class Renamer : public Mutator {
 public:
  explicit Renamer(const std::map<std::string, std::string>& functions) : functions_(functions) {}

  Function Renamed(const Function& function) {
    FunctionNode::Fields fields = function->fields();
    fields.name = functions_.at(function->name);
    fields.attrs.erase(kGlobalSymbol);
    if (const auto packs = fields.attrs.find(kPrepackOf); packs != fields.attrs.end()) {
      const auto* value = std::get_if<Expr>(&packs->second.value);
      const auto* of = value == nullptr ? nullptr : dyn_cast<StringImmNode>(*value);
      const auto name = of == nullptr ? functions_.end() : functions_.find(of->value);
      if (name != functions_.end()) packs->second = MakeAnnotation(name->second);
    }
    for (Param& param : fields.params) {
      if (param.buffer) param.buffer = MutateBuffer(param.buffer);
    }
    fields.body = Mutate(fields.body);
    return Function(std::move(fields));
  }

  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto known = buffers_.find(buffer.get());
    if (known != buffers_.end()) return known->second;
    BufferNode::Fields fields = buffer->fields();
    fields.name = absl::StrCat("a", buffers_.size());
    return buffers_.emplace(buffer.get(), Buffer(std::move(fields))).first->second;
  }

  Block MutateBlock(const Block& block) override {
    std::string name = std::exchange(is_root_, false) ? "root" : absl::StrCat("b", blocks_++);
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    fields.name = std::move(name);
    return Block(std::move(fields));
  }

 private:
  const std::map<std::string, std::string>& functions_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  bool is_root_ = true;
  int blocks_ = 0;
};

// The names of a function's blocks in the order of the text.
class BlockNames : public StmtVisitor {
 public:
  static std::vector<std::string> Of(const Function& function) {
    BlockNames collector;
    if (function) collector.Visit(function->body);
    return std::move(collector.names_);
  }

 private:
  void VisitBlock(const BlockNode* op) override {
    names_.push_back(op->name);
    StmtVisitor::VisitBlock(op);
  }
  std::vector<std::string> names_;
};

// A trace of one program, applied to it and to another one that differs in names only.
class TwoSchedules {
 public:
  TwoSchedules(const Module& from, const Module& to, IntrinRegistry* intrins)
      : from_blocks_(BlockNames::Of(from.Main())),
        to_blocks_(BlockNames::Of(to.Main())),
        from_(from, {.intrins = intrins}),
        to_(to, {.intrins = intrins}) {}

  absl::StatusOr<Schedule> Replay(const Trace& trace) {
    for (const Instruction& instruction : trace.instructions) {
      const std::string_view name = instruction.primitive->name;
      std::vector<Value> there = instruction.args;
      if (name == "get_block") {
        if (absl::Status renamed = RenameBlock(instruction.args, there); !renamed.ok()) return renamed;
      } else if (name == "sample_categorical") {
        RenameChoice(there);
      }
      if (absl::Status applied = Apply(from_, from_rvs_, instruction, instruction.args); !applied.ok()) return applied;
      if (absl::Status applied = Apply(to_, to_rvs_, instruction, std::move(there)); !applied.ok()) return applied;
    }
    if (WorkloadOf(from_.module()) != WorkloadOf(to_.module())) {
      return absl::FailedPreconditionError("its trace leads to another program under other names");
    }
    return std::move(to_);
  }

 private:
  using Rvs = std::map<int, Rv>;

  static absl::Status Apply(Schedule& schedule, Rvs& rvs, const Instruction& instruction, std::vector<Value> args) {
    for (Value& arg : args) {
      arg = MapRvs(arg, [&](Rv rv) {
        const auto known = rvs.find(rv.index);
        return Value(known == rvs.end() ? Rv{} : known->second);
      });
    }
    const auto results = schedule.Apply(*instruction.primitive, std::move(args), instruction.decision);
    if (!results.ok()) {
      return absl::FailedPreconditionError(RenderLine(results.refusal(), schedule.refused_function()));
    }
    if (results->size() != instruction.results.size()) {
      return absl::FailedPreconditionError(absl::StrCat(instruction.primitive->name, " has ", results->size(),
                                                        " results here, ", instruction.results.size(),
                                                        " in the trace"));
    }
    for (size_t i = 0; i < results->size(); ++i) rvs[instruction.results[i].index] = (*results)[i];
    return absl::OkStatus();
  }

  // The function of `to` that corresponds to one of `from`.
  std::optional<std::string> Renamed(const std::string& function) const {
    const auto from = FunctionNames(from_.module()), to = FunctionNames(to_.module());
    const auto canonical = from.find(function);
    if (canonical == from.end()) return std::nullopt;
    for (const auto& [name, same] : to) {
      if (same == canonical->second) return name;
    }
    return std::nullopt;
  }

  absl::Status RenameBlock(const std::vector<Value>& here, std::vector<Value>& there) const {
    const auto* block = here[0].As<std::string>();
    const auto* named = here.size() > 1 ? here[1].As<std::string>() : nullptr;
    const Function main = from_.module().Main();
    const std::string function = named != nullptr ? *named : main ? main->name : kMain;
    const auto renamed = Renamed(function);
    if (block == nullptr || !renamed) return absl::FailedPreconditionError("its trace names another function");
    const std::vector<std::string> from = BlockNames::Of(from_.module().Find(function));
    const std::vector<std::string> to = BlockNames::Of(to_.module().Find(*renamed));
    const auto place = static_cast<size_t>(std::ranges::find(from, *block) - from.begin());
    if (place >= to.size()) return absl::FailedPreconditionError(absl::StrCat("there is no block ", *block));
    if (std::ranges::count(to, to[place]) > 1) {
      return absl::FailedPreconditionError(absl::StrCat("several blocks are called ", to[place]));
    }
    there[0] = to[place];
    if (there.size() > 1) there[1] = *renamed;
    return absl::OkStatus();
  }

  // Choices are called after blocks: "C.tile_rows", also after one that the steps before replaced.
  void RenameChoice(std::vector<Value>& args) const {
    const auto* name = args.size() > 2 ? args[2].As<std::string>() : nullptr;
    if (name == nullptr) return;
    std::optional<std::string> renamed =
        RenamedChoice(*name, BlockNames::Of(from_.module().Main()), BlockNames::Of(to_.module().Main()));
    if (!renamed) renamed = RenamedChoice(*name, from_blocks_, to_blocks_);
    if (renamed) args[2] = *std::move(renamed);
  }
  static std::optional<std::string> RenamedChoice(const std::string& name, const std::vector<std::string>& from,
                                                  const std::vector<std::string>& to) {
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      if (absl::StartsWith(name, absl::StrCat(from[i], "."))) return absl::StrCat(to[i], name.substr(from[i].size()));
    }
    return std::nullopt;
  }

  const std::vector<std::string> from_blocks_, to_blocks_;  // of the programs that nobody scheduled
  Schedule from_, to_;
  Rvs from_rvs_, to_rvs_;
};

}  // namespace

Module CanonicalNames(const Module& module) {
  const std::map<std::string, std::string> names = FunctionNames(module);
  Module canonical;
  canonical.set_attrs(module.attrs());
  for (const Function& function : module.functions()) canonical.Set(Renamer(names).Renamed(function));
  return canonical;
}

uint64_t WorkloadOf(const Module& module) { return StructuralHash(CanonicalNames(module)); }

absl::StatusOr<Schedule> ReplayRenamed(const Trace& trace, const Module& from, const Module& to,
                                       IntrinRegistry* intrins) {
  return TwoSchedules(from, to, intrins).Replay(trace);
}

}  // namespace tilewright
