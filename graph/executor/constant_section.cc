#include "graph/executor/constant_section.h"

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/status_macros.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {
namespace {

int64_t BytesOf(const KernelTensor& tensor) {
  int64_t bytes = tensor.dtype.bytes();
  for (int64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

// Packed constants of one program and one set of constants.
struct Packing {
  int program = 0;
  std::vector<int> constants;    // by parameter of the packing function; -1: a packed one
  std::vector<int64_t> offsets;  // by Kernel::packed
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class Builder {
 public:
  Builder(const ExecutablePlan& plan, absl::Span<const Kernel> kernels) : plan_(plan), kernels_(kernels) {}

  // Which constants are needed as they are, and which packings there are; offsets of all.
  void LayOut(std::vector<int64_t>* constants, std::vector<std::vector<int64_t>>* packed) {
    constants->assign(plan_.constants.size(), -1);
    const auto keep = [&](int tensor) {
      const PlanTensor& root = Root(tensor);
      if (root.home != Home::kConstant) return;
      int64_t& offset = (*constants)[static_cast<size_t>(root.index)];
      if (offset < 0) offset = Take(plan_.constants[static_cast<size_t>(root.index)]->bytes.size);
    };
    for (int result : plan_.results) keep(result);
    packed->resize(plan_.steps.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const Kernel& kernel = kernels_[static_cast<size_t>(step.program)];
      for (int param : kernel.main.params) {
        if (param >= 0 && static_cast<size_t>(param) < step.tensors.size()) {
          keep(step.tensors[static_cast<size_t>(param)]);
        }
      }
      if (kernel.pack.run != nullptr) (*packed)[s] = PackingOf(step, kernel).offsets;
    }
  }

  int64_t bytes() const { return bytes_; }

  absl::Status Fill(std::byte* section, const std::vector<int64_t>& constants, const TwParallelHook* parallel) const {
    for (size_t c = 0; c < constants.size(); ++c) {
      if (constants[c] >= 0) Copy(static_cast<int>(c), section + constants[c]);
    }
    for (const auto& [key, packing] : packings_) {
      TW_RETURN_IF_ERROR(Pack(packing, section, constants, parallel));
    }
    return absl::OkStatus();
  }

 private:
  const PlanTensor& Root(int tensor) const {
    return plan_.tensors[static_cast<size_t>(plan_.tensors[static_cast<size_t>(tensor)].root)];
  }
  int64_t Take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += RoundedBytes(bytes);
    return offset;
  }

  const Packing& PackingOf(const PlanStep& step, const Kernel& kernel) {
    std::vector<int> constants;
    for (int param : kernel.pack.params) {
      constants.push_back(param < 0 ? -1 : Root(step.tensors[static_cast<size_t>(param)]).index);
    }
    const auto [it, is_new] = packings_.try_emplace({step.program, constants});
    if (is_new) {
      it->second = {.program = step.program, .constants = constants};
      for (const KernelTensor& tensor : kernel.packed) it->second.offsets.push_back(Take(BytesOf(tensor)));
    }
    return it->second;
  }

  void Copy(int constant, std::byte* to) const {
    const ConstantBytes& bytes = plan_.constants[static_cast<size_t>(constant)]->bytes;
    if (bytes.size > 0) std::memcpy(to, bytes.data, static_cast<size_t>(bytes.size));
  }

  absl::Status Pack(const Packing& packing, std::byte* section, const std::vector<int64_t>& constants,
                    const TwParallelHook* parallel) const {
    const Kernel& kernel = kernels_[static_cast<size_t>(packing.program)];
    std::vector<std::unique_ptr<void, Free>> copies;  // aligned ones of what the section does not hold
    std::vector<void*> data;
    std::vector<const int64_t*> shapes;
    for (size_t i = 0; i < kernel.pack.params.size(); ++i) {
      const int param = kernel.pack.params[i];
      if (param < 0) {
        data.push_back(section + packing.offsets[static_cast<size_t>(~param)]);
        shapes.push_back(kernel.packed[static_cast<size_t>(~param)].shape.data());
        continue;
      }
      const auto c = static_cast<size_t>(packing.constants[i]);
      shapes.push_back(plan_.constants[c]->shape.data());
      if (constants[c] >= 0) {
        data.push_back(section + constants[c]);
        continue;
      }
      const int64_t bytes = RoundedBytes(plan_.constants[c]->bytes.size);
      copies.emplace_back(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(bytes)));
      if (copies.back() == nullptr) return absl::ResourceExhaustedError("no memory to pack constants");
      Copy(static_cast<int>(c), static_cast<std::byte*>(copies.back().get()));
      data.push_back(copies.back().get());
    }
    char message[256] = "";
    const TwCall call = {.parallel = parallel, .message = message, .message_bytes = sizeof message};
    if (kernel.pack.run(&call, data.data(), shapes.data()) == kTwOk) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("constants cannot be packed: ", message));
  }

  const ExecutablePlan& plan_;
  const absl::Span<const Kernel> kernels_;
  std::map<std::pair<int, std::vector<int>>, Packing> packings_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<ConstantSection> ConstantSection::Make(const ExecutablePlan& plan, absl::Span<const Kernel> kernels,
                                                      const TwParallelHook* parallel) {
  ConstantSection section;
  Builder builder(plan, kernels);
  builder.LayOut(&section.constants_, &section.packed_);
  TW_VALUE_OR_RETURN(section.memory_, ReadOnlyMemory::Reserve(builder.bytes()));
  TW_RETURN_IF_ERROR(builder.Fill(section.memory_.data(), section.constants_, parallel));
  section.memory_.Seal();
  return section;
}

}  // namespace tilewright::graph
