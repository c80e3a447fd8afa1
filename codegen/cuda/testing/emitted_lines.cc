#include "codegen/cuda/testing/emitted_lines.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "codegen/cuda/kernel_emitter.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright::cuda::testing {

absl::StatusOr<Kernel> EmitLines(const std::string& lines, const std::string& type) {
  const Function function = ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((256,), "TYPE"), B: T.Buffer((256,), "TYPE"), C: T.Buffer((256,), "TYPE"), I: T.Buffer((256,), "int32"), n: T.int32):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        LINES
)",
                                                                   {{"TYPE", type}, {"LINES", lines}}));
  HostBuffers hosts;
  for (const Param& param : function->params) {
    if (param.buffer) hosts.emplace(param.buffer->data.get(), HostBuffer{param.buffer, hosts.size()});
  }
  const Target target = NamedTarget("cuda-sm80").value();
  const EmitOptions options;
  return KernelEmitter(target, hosts, options).Emit("kernel", function->body);
}

std::string TextOf(const std::string& lines, const std::string& type) {
  const auto kernel = EmitLines(lines, type);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? kernel->text : "";
}

std::string WhyNot(const std::string& lines, const std::string& type) {
  return std::string(EmitLines(lines, type).status().message());
}

}  // namespace tilewright::cuda::testing
