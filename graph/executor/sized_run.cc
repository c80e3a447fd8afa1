#include "graph/executor/sized_run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/runtime/timer.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {
namespace {

using Memory = SizedSequence::Memory;

constexpr size_t kKeptFrames = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<SizedRun>> SizedRun::Make(const PlannedFunction& function) {
  const auto name = [](size_t program) { return absl::StrCat("kernel", program); };
  TW_ASSIGN_OR_RETURN(const SizedPlan plan, PlanForAllSizes(function, name, {}));
  std::unique_ptr<SizedRun> run(new SizedRun(function));
  TW_RETURN_IF_ERROR(run->Compile(plan));
  return run;
}

absl::StatusOr<size_t> SizedRun::Slot(const Expr& number) {
  TW_ASSIGN_OR_RETURN(const int slot, evaluator_.Add(number));
  needed_.push_back(static_cast<size_t>(slot));
  return static_cast<size_t>(slot);
}

absl::Status SizedRun::Compile(const SizedPlan& plan) {
  const SizedSequence& sequence = plan.sequence;
  TW_ASSIGN_OR_RETURN(evaluator_, SizeEvaluator::Make(sequence.extents, sequence.sizes));
  TW_RETURN_IF_ERROR(AddParams(sequence));
  for (const SizedSequence::Check& check : sequence.checks) {
    TW_ASSIGN_OR_RETURN(const size_t slot, Slot(check.holds));
    checks_.push_back(slot);
  }
  for (size_t i = 0; i < sequence.calls.size(); ++i) TW_RETURN_IF_ERROR(AddCall(sequence.calls[i], plan.calls[i]));
  for (const SizedSequence::Copy& copy : sequence.copies) {
    TW_ASSIGN_OR_RETURN(const Argument from, Compiled(copy.from));
    TW_ASSIGN_OR_RETURN(const size_t bytes, Slot(copy.bytes));
    copies_.push_back({from, static_cast<size_t>(copy.to), bytes});
  }
  shared_ = sequence.shared;
  TW_ASSIGN_OR_RETURN(arena_bytes_, Slot(sequence.workspace_bytes));
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].memory == Memory::kParam) patches_.emplace_back(i, arguments_[i].at);
  }
  std::ranges::sort(needed_);
  needed_.erase(std::ranges::unique(needed_).begin(), needed_.end());
  return absl::OkStatus();
}

absl::Status SizedRun::AddParams(const SizedSequence& sequence) {
  num_inputs_ = sequence.num_inputs;
  for (const Param& param : sequence.params) {
    shapes_.emplace_back();
    for (const Expr& extent : param.buffer->shape) {
      TW_ASSIGN_OR_RETURN(const size_t slot, Slot(extent));
      shapes_.back().push_back(slot);
    }
  }
  for (const Symbol& extent : sequence.extents) {
    const size_t before = extents_.size();
    for (size_t p = 0; p < num_inputs_ && extents_.size() == before; ++p) {
      const std::vector<Expr>& shape = sequence.params[p].buffer->shape;
      const auto found = std::ranges::find_if(shape, [&](const Expr& e) { return e.get() == extent.get(); });
      if (found != shape.end()) extents_.emplace_back(p, static_cast<size_t>(found - shape.begin()));
    }
    if (extents_.size() == before) return absl::InternalError(absl::StrCat("no input has the extent ", extent.name()));
  }
  return absl::OkStatus();
}

absl::StatusOr<SizedRun::Argument> SizedRun::Compiled(const SizedSequence::Argument& argument) {
  Argument compiled{.memory = argument.memory};
  if (argument.memory == Memory::kParam || argument.memory == Memory::kConstants) {
    compiled.at = static_cast<size_t>(AsInt(argument.at).value_or(0));
  } else {
    TW_ASSIGN_OR_RETURN(compiled.at, Slot(argument.at));
  }
  compiled.first_extent = extent_slots_.size();
  compiled.rank = argument.shape.size();
  for (const Expr& extent : argument.shape) {
    TW_ASSIGN_OR_RETURN(const size_t slot, Slot(extent));
    extent_slots_.push_back(slot);
  }
  return compiled;
}

absl::Status SizedRun::AddCall(const SizedSequence::Call& call, const SizedPlan::Call& of) {
  Call added{.step = of.step, .workspace_bytes = call.workspace_bytes};
  TW_ASSIGN_OR_RETURN(added.workspace, Slot(call.workspace_offset ? call.workspace_offset : Extent(0)));
  for (const Expr& bytes : call.written) {
    TW_ASSIGN_OR_RETURN(const size_t slot, Slot(bytes));
    added.written.push_back(slot);
  }
  const auto add = [&](const KernelFunction& function, const std::vector<SizedSequence::Argument>& arguments,
                       Entry entry) -> absl::Status {
    if (function.run == nullptr) return absl::FailedPreconditionError("a kernel does not run here");
    entry.run = function.run;
    entry.first = arguments_.size();
    for (const SizedSequence::Argument& argument : arguments) {
      TW_ASSIGN_OR_RETURN(Argument compiled, Compiled(argument));
      arguments_.push_back(compiled);
    }
    added.entries.push_back(std::move(entry));
    return absl::OkStatus();
  };
  for (size_t v = 0; v < call.versions.size(); ++v) {
    const SizedSequence::Version& version = call.versions[v];
    Entry entry{.shared = version.shared};
    for (const auto& [number, value] : version.when) {
      TW_ASSIGN_OR_RETURN(const size_t slot, Slot(number));
      entry.when.emplace_back(slot, value);
    }
    TW_RETURN_IF_ERROR(add(*of.functions[v + 1], version.arguments, std::move(entry)));
  }
  TW_RETURN_IF_ERROR(add(*of.functions[0], call.arguments, {}));
  calls_.push_back(std::move(added));
  return absl::OkStatus();
}

bool SizedRun::IsFor(const Frame& frame, const ShapeList& shapes) const {
  for (size_t i = 0; i < extents_.size(); ++i) {
    const auto [input, dim] = extents_[i];
    if (frame.extents[i] != shapes[input][dim]) return false;
  }
  return frame.filled;
}

// One for these shapes rather than another.
std::unique_ptr<SizedRun::Frame> SizedRun::TakeFrame(const ShapeList& shapes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (frames_.empty()) return nullptr;
  auto taken = std::ranges::find_if(frames_, [&](const auto& frame) { return IsFor(*frame, shapes); });
  if (taken == frames_.end()) taken = frames_.end() - 1;
  std::unique_ptr<Frame> frame = std::move(*taken);
  frames_.erase(taken);
  return frame;
}

void SizedRun::GiveBack(std::unique_ptr<Frame> frame) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (frames_.size() < kKeptFrames) frames_.push_back(std::move(frame));
}

absl::StatusOr<std::unique_ptr<SizedRun::Frame>> SizedRun::Prepare(const ShapeList& shapes,
                                                                   RunCounters* counters) const {
  if (shapes.size() != num_inputs_) return nullptr;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != shapes_[i].size()) return nullptr;
  }
  std::unique_ptr<Frame> frame = TakeFrame(shapes);
  if (frame == nullptr) {
    frame = std::make_unique<Frame>();
    frame->extents.resize(extents_.size());
    frame->values = evaluator_.MakeValues();
    frame->extent_table.resize(extent_slots_.size());
    frame->data.resize(arguments_.size());
    frame->shape_table.resize(arguments_.size());
    frame->parameters.resize(shapes_.size());
    ++counters->frames;
  }
  const bool is_new = !IsFor(*frame, shapes);
  if (is_new && (!Fill(shapes, *frame) || IsTooLarge(*frame))) {
    GiveBack(std::move(frame));
    return nullptr;
  }
  // Those of extents that stand not alone.
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t d = 0; d < shapes_[i].size(); ++d) {
      if (frame->values.numbers[shapes_[i][d]] == shapes[i][d]) continue;
      GiveBack(std::move(frame));
      return nullptr;
    }
  }
  if (is_new) {
    TW_RETURN_IF_ERROR(GrowArena(*frame, counters));
    PlaceArguments(*frame);
    frame->filled = true;
  }
  return frame;
}

bool SizedRun::Fill(const ShapeList& shapes, Frame& frame) const {
  frame.filled = false;
  for (size_t i = 0; i < extents_.size(); ++i) {
    const auto [input, dim] = extents_[i];
    frame.extents[i] = shapes[input][dim];
    if (frame.extents[i] < 0) return false;
  }
  evaluator_.Evaluate(frame.extents, &frame.values);
  const auto known = [&](size_t slot) { return frame.values.known[slot] != 0; };
  const auto holds = [&](size_t slot) { return frame.values.numbers[slot] != 0; };
  return std::ranges::all_of(needed_, known) && std::ranges::all_of(checks_, holds);
}

// Whether a tensor may need more bytes than are allowed.
bool SizedRun::IsTooLarge(const Frame& frame) const {
  const int64_t most = function_.options().max_bytes;
  if (frame.values.numbers[arena_bytes_] > most) return true;
  return std::ranges::any_of(shapes_, [&](const std::vector<size_t>& shape) {
    int64_t bytes = 8;
    for (const size_t slot : shape) {
      if (__builtin_mul_overflow(bytes, frame.values.numbers[slot], &bytes)) return true;
    }
    return bytes > most;
  });
}

absl::Status SizedRun::GrowArena(Frame& frame, RunCounters* counters) const {
  const int64_t bytes = RoundedBytes(frame.values.numbers[arena_bytes_]);
  if (frame.arena != nullptr && bytes <= frame.arena_bytes) return absl::OkStatus();
  // Lengths grow step by step.
  const int64_t grown = RoundedBytes(std::max(bytes, frame.arena_bytes + frame.arena_bytes / 2));
  frame.arena.reset();
  frame.arena = {static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(grown))),
                 [](std::byte* memory) { std::free(memory); }};
  frame.arena_bytes = frame.arena == nullptr ? 0 : grown;
  if (frame.arena == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", grown, " bytes of values"));
  }
  counters->allocated_bytes += grown;
  return absl::OkStatus();
}

void SizedRun::PlaceArguments(Frame& frame) const {
  std::vector<int64_t>& numbers = frame.values.numbers;
  for (size_t i = 0; i < extent_slots_.size(); ++i) frame.extent_table[i] = numbers[extent_slots_[i]];
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    frame.shape_table[i] = argument.rank == 0 ? nullptr : &frame.extent_table[argument.first_extent];
    // Kernels do not write to constants and scalars, but take all arguments as void*. Scalars are read in their width:
    // the low bytes.
    if (argument.memory == Memory::kConstants) {
      frame.data[i] = const_cast<std::byte*>(function_.constants().data()) + argument.at;
    } else if (argument.memory == Memory::kWorkspace) {
      frame.data[i] = frame.arena.get() + numbers[argument.at];
    } else if (argument.memory == Memory::kScalar) {
      frame.data[i] = &numbers[argument.at];
    }
  }
}

std::vector<int64_t> SizedRun::ResultShape(const Frame& frame, size_t result) const {
  std::vector<int64_t> shape;
  for (const size_t slot : shapes_[num_inputs_ + result]) shape.push_back(frame.values.numbers[slot]);
  return shape;
}

absl::Status SizedRun::SetParameters(Frame& frame, const Arrays& arguments, const Arrays& results) const {
  for (size_t i = 0; i < arguments.size(); ++i) frame.parameters[i] = arguments[i].data();
  for (size_t r = 0; r < results.size(); ++r) {
    const std::vector<size_t>& slots = shapes_[num_inputs_ + r];
    const DataType dtype = function_.plan().tensors[static_cast<size_t>(function_.plan().results[r])].dtype;
    const bool same = std::ranges::equal(
        slots, results[r].shape(), [&](size_t slot, int64_t extent) { return frame.values.numbers[slot] == extent; });
    if (!same || results[r].dtype() != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("result ", r, " has another shape or type than its array"));
    }
    frame.parameters[num_inputs_ + r] = results[r].data();
  }
  return CheckShared(frame);
}

absl::Status SizedRun::CheckShared(const Frame& frame) const {
  for (const auto& [read, written] : shared_) {
    if (frame.parameters[read] != frame.parameters[written]) continue;
    const bool same = std::ranges::equal(shapes_[read], shapes_[written], [&](size_t a, size_t b) {
      return frame.values.numbers[a] == frame.values.numbers[b];
    });
    if (same) continue;
    return absl::InvalidArgumentError(absl::StrCat(function_.plan().params[read]->name, " and result ",
                                                   written - num_inputs_,
                                                   " are the same memory, but have different shapes"));
  }
  return absl::OkStatus();
}

const SizedRun::Entry& SizedRun::EntryOf(const Call& call, const Frame& frame) {
  return *std::ranges::find_if(call.entries, [&](const Entry& entry) {
    const auto is = [&](const auto& when) { return frame.values.numbers[when.first] == when.second; };
    const auto same = [&](const auto& pair) { return frame.parameters[pair.read] == frame.parameters[pair.written]; };
    return std::ranges::all_of(entry.when, is) && std::ranges::all_of(entry.shared, same);
  });
}

absl::Status SizedRun::CallSteps(Frame& frame, const RunOptions& options) const {
  char message[256] = "";
  TwCall call = {.parallel = options.parallel, .message = message, .message_bytes = sizeof message};
  const bool timed = options.step_nanoseconds != nullptr || options.step_starts != nullptr;
  if (options.step_nanoseconds != nullptr) options.step_nanoseconds->assign(function_.plan().steps.size(), 0);
  if (options.step_starts != nullptr) options.step_starts->assign(function_.plan().steps.size(), 0);
  const std::vector<int64_t>& numbers = frame.values.numbers;
  for (const Call& step : calls_) {
    if (std::ranges::all_of(step.written, [&](size_t slot) { return numbers[slot] == 0; })) continue;
    const Entry& entry = EntryOf(step, frame);
    call.workspace = frame.arena.get() + numbers[step.workspace];
    call.workspace_bytes = step.workspace_bytes;
    const int64_t start = timed ? runtime::NowNanoseconds() : 0;
    const int code = entry.run(&call, &frame.data[entry.first], &frame.shape_table[entry.first]);
    if (options.step_nanoseconds != nullptr) {
      (*options.step_nanoseconds)[step.step] = runtime::NowNanoseconds() - start;
    }
    if (options.step_starts != nullptr) (*options.step_starts)[step.step] = start;
    if (code == kTwOk) continue;
    const std::string text = absl::StrCat("value ", function_.plan().steps[step.step].name, ": ", message);
    return code == kTwErrorMemory ? absl::ResourceExhaustedError(text) : absl::FailedPreconditionError(text);
  }
  return absl::OkStatus();
}

absl::Status SizedRun::Run(Frame& frame, const Arrays& arguments, const Arrays& results, const RunOptions& options,
                           RunCounters* counters) const {
  TW_RETURN_IF_ERROR(SetParameters(frame, arguments, results));
  for (const auto& [argument, parameter] : patches_) frame.data[argument] = frame.parameters[parameter];
  if (function_.options().poison) std::memset(frame.arena.get(), 0xff, static_cast<size_t>(frame.arena_bytes));
  TW_RETURN_IF_ERROR(CallSteps(frame, options));
  const std::vector<int64_t>& numbers = frame.values.numbers;
  for (const Copy& copy : copies_) {
    const void* from = copy.from.memory == Memory::kParam       ? frame.parameters[copy.from.at]
                       : copy.from.memory == Memory::kConstants ? function_.constants().data() + copy.from.at
                                                                : frame.arena.get() + numbers[copy.from.at];
    const int64_t bytes = numbers[copy.bytes];
    if (bytes == 0 || from == frame.parameters[copy.to]) continue;
    std::memcpy(frame.parameters[copy.to], from, static_cast<size_t>(bytes));
    counters->copied_bytes += bytes;
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph
