#include "graph/executor/bound_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/runtime/timer.h"
#include "graph/memory/check_placement.h"

namespace tilewright::graph {
namespace {

constexpr size_t kKeptFrames = 4;

int64_t Product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return -1;
  }
  return product;
}

}  // namespace

absl::StatusOr<std::shared_ptr<BoundPlan>> BoundPlan::Make(const PlannedFunction& function, SymbolValues symbols,
                                                           const std::vector<std::vector<int64_t>>& shapes,
                                                           SizeKey key) {
  if (!function.plan().loops.empty() || !function.plan().reads.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        function.plan().name, " has loops or elements of inputs in its plan: a library runs it, not this process"));
  }
  std::shared_ptr<BoundPlan> bound(new BoundPlan(function));
  bound->key_ = std::move(key);
  TW_RETURN_IF_ERROR(bound->ComputeShapes(symbols, shapes));
  TW_RETURN_IF_ERROR(bound->PlaceTensors());
  TW_RETURN_IF_ERROR(bound->PrepareCalls(symbols));
  bound->PrepareCopies();
  return bound;
}

absl::Status BoundPlan::ComputeShapes(SymbolValues& symbols, const std::vector<std::vector<int64_t>>& shapes) {
  const ExecutablePlan& plan = function_.plan();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Var& param = plan.params[i];
    TW_RETURN_IF_ERROR(symbols.Match(*cast<TensorTypeNode>(param->type), shapes[i], param->name));
  }
  std::vector<Expr> guards = plan.guards;
  TW_RETURN_IF_ERROR(symbols.CheckReadyGuards(&guards));
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    const auto in_value = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat("value ", tensor.name, ": ", status.message()));
    };
    auto shape = symbols.Evaluate(tensor.shape);
    if (!shape.ok()) return in_value(shape.status());
    if (tensor.cast) {
      if (absl::Status status = symbols.Match(*tensor.cast, *shape, "a result"); !status.ok()) return in_value(status);
    }
    shapes_.push_back(*std::move(shape));
    const bool is_view = tensor.root != static_cast<int>(i);
    const int64_t size = Product(shapes_.back());
    if (is_view && !tensor.is_part && size != Product(shapes_[static_cast<size_t>(tensor.root)])) {
      const int64_t elements = Product(shapes_[static_cast<size_t>(tensor.root)]);
      return in_value(absl::InvalidArgumentError(absl::StrCat(elements, " elements do not fit the shape")));
    }
    auto bytes = BytesOf(static_cast<int>(i));
    if (!bytes.ok()) return in_value(bytes.status());
    bytes_.push_back(*bytes);
  }
  // Those of extents that results have.
  return symbols.CheckGuards(guards);
}

absl::StatusOr<int64_t> BoundPlan::BytesOf(int tensor) const {
  int64_t bytes = function_.plan().tensors[static_cast<size_t>(tensor)].dtype.bytes();
  for (int64_t extent : shape(tensor)) {
    if (extent < 0) return absl::InvalidArgumentError(absl::StrCat("an extent is ", extent));
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > function_.options().max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a tensor needs more than ", function_.options().max_bytes, " bytes"));
    }
  }
  return bytes;
}

// Parts lie inside of what they are parts of, and no two steps write to the same one.
absl::Status BoundPlan::CheckParts() const {
  const ExecutablePlan& plan = function_.plan();
  struct Written {
    int root;
    int64_t begin, end;
  };
  std::vector<Written> all;
  const auto place_of = [&](int tensor) -> Written {
    const PlanTensor& seen = plan.tensors[static_cast<size_t>(tensor)];
    const int64_t begin = seen.offset * seen.dtype.bytes();
    return {seen.root, begin, begin + bytes_[static_cast<size_t>(tensor)]};
  };
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const Written place = place_of(static_cast<int>(i));
    if (place.begin < 0 || place.end > bytes_[static_cast<size_t>(place.root)]) {
      return absl::InternalError(absl::StrCat("value ", plan.tensors[i].name, " does not lie inside of its root"));
    }
  }
  for (const PlanStep& step : plan.steps) {
    for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
      const Written place = place_of(step.tensors[i]);
      if (place.begin < place.end) all.push_back(place);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Written& a, const Written& b) { return std::pair(a.root, a.begin) < std::pair(b.root, b.begin); });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].root == all[i - 1].root && all[i].begin < all[i - 1].end) {
      return absl::InternalError("two steps write to the same part of a value");
    }
  }
  return absl::OkStatus();
}

// Tenants of the arena: the tensors that live there, then the temporaries of each step.
absl::Status BoundPlan::PlaceTensors() {
  const ExecutablePlan& plan = function_.plan();
  TW_RETURN_IF_ERROR(CheckParts());
  std::vector<Tenant> tenants;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (tensor.root != static_cast<int>(i) || tensor.home != Home::kArena) continue;
    tenants.push_back({bytes_[i], tensor.first, tensor.last});
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    tenants.push_back({MainOf(plan.steps[s]).workspace_bytes, static_cast<int>(s), static_cast<int>(s)});
  }
  MemoryPlan memory = PlanMemory(tenants);
  TW_RETURN_IF_ERROR(CheckPlacement(tenants, memory.offsets, memory.bytes));
  offsets_ = std::move(memory.offsets);
  arena_bytes_ = memory.bytes;
  return absl::OkStatus();
}

const KernelFunction& BoundPlan::MainOf(const PlanStep& step) const {
  std::vector<const std::vector<int64_t>*> shapes;
  for (int tensor : step.tensors) shapes.push_back(&shape(tensor));
  return function_.kernels()[static_cast<size_t>(step.program)].MainFor(shapes);
}

absl::Status BoundPlan::PrepareCalls(const SymbolValues& symbols) {
  const ExecutablePlan& plan = function_.plan();
  const size_t tenants = offsets_.size() - plan.steps.size();
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const KernelFunction& main = MainOf(step);
    bool empty = true;
    for (size_t i = step.num_inputs; i < step.tensors.size(); ++i) {
      empty &= bytes_[static_cast<size_t>(step.tensors[i])] == 0;
    }
    if (empty) continue;
    const auto scalars = ScalarsOf(step, symbols);
    if (!scalars.ok()) {
      return absl::Status(scalars.status().code(), absl::StrCat("value ", step.name, ": ", scalars.status().message()));
    }
    calls_.push_back({main.run, arguments_.size(), main.params.size(), offsets_[tenants + s], main.workspace_bytes, s});
    for (int param : main.params) arguments_.push_back(ArgumentOf(step, s, param, *scalars));
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    shape_table_.push_back(argument.shape == nullptr ? nullptr : argument.shape->data());
    const Patch patch = {i, static_cast<size_t>(argument.at)};
    if (argument.memory == Argument::Memory::kInput) inputs_.push_back(patch);
    if (argument.memory == Argument::Memory::kOutput) outputs_.push_back(patch);
  }
  return absl::OkStatus();
}

// Also checks the arguments: kernels do not.
absl::StatusOr<std::vector<int64_t>> BoundPlan::ScalarsOf(const PlanStep& step, const SymbolValues& symbols) const {
  TW_ASSIGN_OR_RETURN(std::vector<int64_t> scalars, symbols.Evaluate(step.scalars));
  std::vector<const std::vector<int64_t>*> shapes;
  for (int tensor : step.tensors) shapes.push_back(&shape(tensor));
  const PrimFunc& program = function_.plan().programs[static_cast<size_t>(step.program)].program;
  TW_RETURN_IF_ERROR(CheckProgramArguments(program, shapes, scalars));
  return scalars;
}

BoundPlan::Argument BoundPlan::TensorArgument(int tensor) const {
  const ExecutablePlan& plan = function_.plan();
  const PlanTensor& root = plan.tensors[static_cast<size_t>(plan.tensors[static_cast<size_t>(tensor)].root)];
  const std::vector<int64_t>* extents = &shape(tensor);
  switch (root.home) {
    case Home::kInput:
      return {Argument::Memory::kInput, root.index, extents};
    case Home::kOutput:
      return {Argument::Memory::kOutput, root.index, extents};
    case Home::kConstant:
      return {Argument::Memory::kConstants, function_.constants().ConstantOffset(root.index), extents};
    case Home::kArena:
      break;
  }
  const PlanTensor& seen = plan.tensors[static_cast<size_t>(tensor)];
  const int64_t begin = offsets_[static_cast<size_t>(root.index)] + seen.offset * seen.dtype.bytes();
  return {Argument::Memory::kArena, begin, extents};
}

BoundPlan::Argument BoundPlan::ArgumentOf(const PlanStep& step, size_t number, int param,
                                          const std::vector<int64_t>& scalars) const {
  if (param < 0) {
    const Kernel& kernel = function_.kernels()[static_cast<size_t>(step.program)];
    return {Argument::Memory::kConstants, function_.constants().PackedOffset(static_cast<int>(number), ~param),
            &kernel.packed[static_cast<size_t>(~param)].shape};
  }
  const auto position = static_cast<size_t>(param);
  if (position < step.tensors.size()) return TensorArgument(step.tensors[position]);
  return {Argument::Memory::kScalar, scalars[position - step.tensors.size()], nullptr};
}

void BoundPlan::PrepareCopies() {
  const ExecutablePlan& plan = function_.plan();
  for (size_t r = 0; r < plan.results.size(); ++r) {
    const Argument from = TensorArgument(plan.results[r]);
    if (from.memory == Argument::Memory::kOutput && from.at == static_cast<int64_t>(r)) continue;
    copies_.push_back({from, r, bytes_[static_cast<size_t>(plan.results[r])]});
  }
}

absl::StatusOr<std::unique_ptr<BoundPlan::Frame>> BoundPlan::TakeFrame() const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!frames_.empty()) {
      std::unique_ptr<Frame> frame = std::move(frames_.back());
      frames_.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>();
  const auto bytes = static_cast<size_t>(RoundedBytes(arena_bytes_));
  frame->arena = {static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, bytes)),
                  [](std::byte* memory) { std::free(memory); }};
  if (frame->arena == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", arena_bytes_, " bytes of values"));
  }
  frame->data.resize(arguments_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    // Kernels do not write to constants and scalars, but take all arguments as void*. Scalars are read in their width:
    // the low bytes.
    if (argument.memory == Argument::Memory::kArena) frame->data[i] = frame->arena.get() + argument.at;
    if (argument.memory == Argument::Memory::kScalar) frame->data[i] = const_cast<int64_t*>(&argument.at);
    if (argument.memory == Argument::Memory::kConstants) {
      frame->data[i] = const_cast<std::byte*>(function_.constants().data()) + argument.at;
    }
  }
  return frame;
}

void BoundPlan::GiveBack(std::unique_ptr<Frame> frame) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (frames_.size() < kKeptFrames) frames_.push_back(std::move(frame));
}

absl::Status BoundPlan::Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                            const RunOptions& options) const {
  if (elsewhere_ != nullptr) return elsewhere_->Run(inputs, outputs, options);
  TW_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame, TakeFrame());
  for (const Patch& patch : inputs_) frame->data[patch.argument] = inputs[patch.index];
  for (const Patch& patch : outputs_) frame->data[patch.argument] = outputs[patch.index];
  std::byte* const arena = frame->arena.get();
  if (function_.options().poison) std::memset(arena, 0xff, static_cast<size_t>(arena_bytes_));
  char message[256] = "";
  TwCall call = {.parallel = options.parallel, .message = message, .message_bytes = sizeof message};
  const bool timed = options.step_nanoseconds != nullptr || options.step_starts != nullptr;
  if (options.step_nanoseconds != nullptr) options.step_nanoseconds->assign(function_.plan().steps.size(), 0);
  if (options.step_starts != nullptr) options.step_starts->assign(function_.plan().steps.size(), 0);
  int code = kTwOk;
  const Call* failed = nullptr;
  for (const Call& step : calls_) {
    call.workspace = arena + step.workspace_offset;
    call.workspace_bytes = step.workspace_bytes;
    const int64_t start = timed ? runtime::NowNanoseconds() : 0;
    code = step.run(&call, &frame->data[step.first], &shape_table_[step.first]);
    if (options.step_nanoseconds != nullptr) {
      (*options.step_nanoseconds)[step.step] = runtime::NowNanoseconds() - start;
    }
    if (options.step_starts != nullptr) (*options.step_starts)[step.step] = start;
    if (code == kTwOk) continue;
    failed = &step;
    break;
  }
  for (const Copy& copy : copies_) {
    const auto at = static_cast<size_t>(copy.from.at);
    const void* from = copy.from.memory == Argument::Memory::kInput    ? inputs[at]
                       : copy.from.memory == Argument::Memory::kOutput ? outputs[at]
                       : copy.from.memory == Argument::Memory::kArena  ? arena + at
                                                                       : function_.constants().data() + at;
    if (copy.bytes > 0) std::memcpy(outputs[copy.to], from, static_cast<size_t>(copy.bytes));
  }
  GiveBack(std::move(frame));
  if (failed == nullptr) return absl::OkStatus();
  const std::string text = absl::StrCat("value ", function_.plan().steps[failed->step].name, ": ", message);
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(text);
  return absl::FailedPreconditionError(text);
}

}  // namespace tilewright::graph
