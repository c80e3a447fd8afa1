// Writes cases for gpu_check of programs that nobody scheduled, at their full size: kernels that the rules make and
// some that choices are drawn for. Nothing runs here: inputs are seeded, and what is expected is what the sketch
// "plain", which gives every element to one thread, computes on the same GPU.
//
//   make_rule_cases TARGET[:ARCHITECTURE] FOLDER DRAWS PROGRAM.py[=SCHEDULED.py]... one function each; extents constant
//
// Kernels are compiled for the target's architecture, or for one that runs its code: cuda-sm80:sm_90.
// With a scheduled form of the program, its kernels are the case in place of those of the rules.
// Prints the choices of each case. Needs NVRTC.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/sketch/space.h"
#include "base/status_macros.h"
#include "bench/gpu/case_file.h"
#include "bench/gpu/recorder.h"
#include "codegen/abi/abi_type.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/function_runner.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/lower/pipeline.h"
#include "codegen/runtime/tensor.h"
#include "ir/functor.h"
#include "ir/script/parser.h"
#include "target/target.h"

namespace tilewright::gpu {
namespace {

Function Named(const Function& function, const std::string& name) {
  FunctionNode::Fields fields = function->fields();
  fields.name = name;
  return Function(std::move(fields));
}

// Whether blocks write each parameter.
std::vector<bool> Written(const Function& function) {
  std::vector<bool> written(function->params.size());
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    for (size_t i = 0; realize != nullptr && i < written.size(); ++i) {
      for (const BufferRegion& region : realize->block->writes) {
        written[i] = written[i] || region.buffer->data.same_as(function->params[i].buffer->data);
      }
    }
    return true;
  });
  return written;
}

double ToleranceOf(const Function& function) {
  double tolerance = 1e-4;
  for (const Param& param : function->params) {
    const DataType type = param.buffer->dtype;
    if (type.is_float() && type.bits() == 16) tolerance = 1.6e-2;
  }
  return tolerance;
}

// The only function of a candidate: one that packs constants ahead of time is not part of a case.
absl::StatusOr<Function> OnlyFunction(const Module& module) {
  if (module.functions().size() != 1) return absl::UnimplementedError("the schedule made further functions");
  return module.functions()[0];
}

// Arrays of the parameters with addresses that nothing has.
class Parameters {
 public:
  explicit Parameters(const Function& function) {
    for (const Param& param : function->params) {
      std::vector<int64_t> shape;
      for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(1));
      int64_t bytes = param.buffer->dtype.bytes();
      for (const int64_t extent : shape) bytes *= extent;
      bytes_.push_back(bytes);
      shapes_.push_back(std::move(shape));
    }
  }
  int64_t bytes(size_t i) const { return bytes_[i]; }

  // A call's arguments: of parameter i the array with the number `numbers[i]`.
  absl::Status Run(const cuda::FunctionRunner& runner, Recorder& recorder, const Function& function,
                   const std::vector<size_t>& numbers) const {
    std::vector<runtime::Tensor> tensors;
    std::vector<TwTensor*> args;
    for (size_t i = 0; i < numbers.size(); ++i) {
      tensors.push_back(
          runtime::Tensor::Borrow(AddressOf(numbers[i]), AbiType(function->params[i].buffer->dtype), shapes_[i]));
    }
    for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
    char message[512] = "";
    const TwCall call = {.message = message, .message_bytes = sizeof(message)};
    const bool ran = runner.Run(recorder, &call, args.data(), static_cast<int32_t>(args.size())) == kTwOk;
    return ran ? absl::OkStatus() : absl::InternalError(message);
  }
  static void* AddressOf(size_t number) { return reinterpret_cast<void*>((number + 1) << 44); }

 private:
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<int64_t> bytes_;
};

absl::Status MakeCase(const std::string& name, const Function& scheduled, const Function& plain, const Target& target,
                      const std::string& folder, std::string* counters) {
  Module module;
  module.Set(Named(scheduled, "scheduled"));
  module.Set(Named(plain, "plain"));
  TW_ASSIGN_OR_RETURN(const auto lowered, Lower(module, target));
  TW_ASSIGN_OR_RETURN(const auto program, cuda::EmitProgram(lowered, target));
  TW_ASSIGN_OR_RETURN(const auto cubin,
                      cuda::CompileWithNvrtc(cuda::PreambleFor(program.text) + program.text, target.cpu));
  for (const auto& [counter, value] : cuda::CountersOfLog(cubin.log))
    absl::StrAppend(counters, " ", counter, "=", value);

  CaseFile file;
  file.name = name;
  file.cubin = cubin.binary;
  file.cubin_name = name;
  file.tolerance = ToleranceOf(scheduled);
  const Parameters parameters(scheduled);
  const std::vector<bool> written = Written(scheduled);
  std::vector<size_t> own, others;
  for (size_t i = 0; i < scheduled->params.size(); ++i) {
    const Buffer& buffer = scheduled->params[i].buffer;
    file.arrays.push_back({buffer->name, buffer->dtype.ToString(), parameters.bytes(i)});
    if (!written[i]) file.arrays.back().seed = i + 1;
    file.traffic += static_cast<double>(parameters.bytes(i));
    own.push_back(i);
  }
  others = own;
  for (size_t i = 0; i < own.size(); ++i) {
    if (!written[i]) continue;
    others[i] = file.arrays.size();
    file.arrays[i].same_as = static_cast<int64_t>(others[i]);
    file.arrays.push_back({file.arrays[i].name + ".plain", file.arrays[i].type, file.arrays[i].bytes});
  }
  Recorder recorder(nullptr, program, &file.arrays, &file.launches);
  for (size_t i = 0; i < file.arrays.size(); ++i) recorder.Know(Parameters::AddressOf(i));
  size_t first_kernel = 0;
  for (size_t i = 0; i < 2; ++i) {
    TW_ASSIGN_OR_RETURN(const auto runner,
                        cuda::FunctionRunner::Compile(program.functions[i], first_kernel, program.gpu));
    if (i == 1) recorder.WriteTo(&file.reference);
    TW_RETURN_IF_ERROR(parameters.Run(*runner, recorder, scheduled, i == 0 ? own : others));
    first_kernel += program.functions[i].kernels.size();
  }
  return WriteCase(folder, file) ? absl::OkStatus() : absl::InternalError("cannot write the case");
}

// Every block by the sketch "plain".
Choices PlainChoices(const Candidate& preferred) {
  std::vector<Choice> given;
  for (const Choice& choice : preferred.choices) {
    if (choice.name.ends_with(".sketch")) given.push_back(Choice::Of(choice.name, "plain"));
  }
  return Choices::GivenOrPreferred(std::move(given));
}

std::string TextOf(const std::vector<Choice>& choices) {
  return absl::StrJoin(choices, " ", [](std::string* out, const Choice& choice) {
    const std::string_view label = choice.label();
    absl::StrAppend(out, choice.name, "=", label.empty() ? absl::StrCat(choice.value) : std::string(label));
  });
}

absl::StatusOr<Module> Read(const std::string& path) {
  std::ifstream stream(path);
  return ParseModule(std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()});
}

// A program's path, and that of a scheduled form of it where there is one: "PROGRAM.py=SCHEDULED.py".
absl::Status MakeCases(const std::string& paths, const Target& target, const std::string& folder, uint64_t draws) {
  const size_t equals = paths.find('=');
  const std::string path = paths.substr(0, equals);
  TW_ASSIGN_OR_RETURN(const auto module, Read(path));
  const size_t slash = path.rfind('/');
  std::string base = path.substr(slash == std::string::npos ? 0 : slash + 1);
  base.resize(base.rfind('.'));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(module, target, &intrins);
  const auto preferred = space.Make(Choices::Preferred());
  if (!preferred.ok()) return absl::InternalError(preferred.refusal().reason);
  const auto plain = space.Make(PlainChoices(*preferred));
  if (!plain.ok()) return absl::InternalError(plain.refusal().reason);
  TW_ASSIGN_OR_RETURN(const auto reference, OnlyFunction(plain->schedule.module()));
  if (equals != std::string::npos) {
    TW_ASSIGN_OR_RETURN(const auto scheduled, Read(paths.substr(equals + 1)));
    std::string counters;
    const absl::Status status = MakeCase(base + ".scheduled", scheduled.Main(), reference, target, folder, &counters);
    std::cout << base << ".scheduled: " << (status.ok() ? "ok" : std::string(status.message())) << counters
              << std::endl;
    return status;
  }
  std::set<uint64_t> made;
  for (uint64_t draw = 0; draw <= draws; ++draw) {
    const auto candidate = draw == 0 ? preferred : space.Make(Choices::Drawn(draw));
    if (!candidate.ok() || !made.insert(candidate->hash).second) continue;
    const auto function = OnlyFunction(candidate->schedule.module());
    const std::string name = absl::StrCat(base, ".", draw);
    std::string counters;
    const absl::Status status =
        function.ok() ? MakeCase(name, *function, reference, target, folder, &counters) : function.status();
    std::cout << name << ": " << (status.ok() ? "ok" : std::string(status.message())) << counters << " | "
              << TextOf(candidate->choices) << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tilewright::gpu

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc < 5) {
    std::cerr << "usage: make_rule_cases TARGET[:ARCHITECTURE] FOLDER DRAWS PROGRAM.py...\n";
    return 2;
  }
  const std::string_view name = argv[1];
  const size_t colon = name.find(':');
  auto target = NamedTarget(std::string(name.substr(0, colon)));
  if (!target.ok()) {
    std::cerr << target.status().message() << "\n";
    return 2;
  }
  if (colon != std::string_view::npos) target->cpu = std::string(name.substr(colon + 1));
  int failed = 0;
  for (int i = 4; i < argc; ++i) {
    const absl::Status status = gpu::MakeCases(argv[i], *target, argv[2], std::strtoull(argv[3], nullptr, 10));
    if (!status.ok()) {
      std::cout << argv[i] << ": " << status.message() << std::endl;
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}
