// Reads a program, splits one of its loops, and prints the result: all of it with @tilewright//ir and
// @tilewright//schedule, and nothing else of Tilewright.

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/functor.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/stmt.h"
#include "schedule/loops/split.h"

namespace {

constexpr std::string_view kMatmul = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// The id of the first loop over a variable of that name, 0 if there is none.
uint32_t FindLoop(const tilewright::Function& function, std::string_view variable) {
  uint32_t id = 0;
  tilewright::PreOrder(function->body, [&](const tilewright::Stmt& stmt) {
    const auto* loop = tilewright::dyn_cast<tilewright::ForNode>(stmt);
    if (id == 0 && loop != nullptr && loop->var.name() == variable) id = loop->id;
    return id == 0;
  });
  return id;
}

}  // namespace

int main() {
  const absl::StatusOr<tilewright::Module> module = tilewright::ParseModule(kMatmul, "matmul.py");
  if (!module.ok()) {
    std::fprintf(stderr, "%s\n", module.status().ToString().c_str());
    return 1;
  }
  const tilewright::Function function = module->Main();
  const auto split = tilewright::Split(function, FindLoop(function, "j"), {tilewright::Expr(), 16});
  if (!split.ok()) {
    std::fprintf(stderr, "refused: %s\n", split.refusal().reason);
    return 1;
  }
  std::fputs(tilewright::Print(split->function).c_str(), stdout);
}
