#include "intrin/dot_vector.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "intrin/from_text.h"
#include "intrin/instructions.h"

namespace tilewright {
namespace {

// The rest of the name, and the row of the instruction table.
struct Named {
  std::string_view name, types, suffix;
};
constexpr Named kNames[] = {{"dot_16x4_vnni", "u8s8", "avx512vnni"}, {"dot_4x4_i8i8s32_sdot", "s8s8", "dotprod"}};

constexpr absl::string_view kText = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "{TA}", offset_factor=1)
    B = T.match_buffer(b, ({N}, 4), "{TB}", offset_factor=1)
    C = T.match_buffer(c, ({N},), "{TC}", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:{N}], A[0:4], B[0:{N}, 0:4])
        T.writes(C[0:{N}])
        for i, k in T.grid({N}, 4):
            with T.block("tile"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("{TC}", A[vk]) * T.Cast("{TC}", B[vi, vk])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "{TA}", offset_factor=1)
    B = T.match_buffer(b, ({N}, 4), "{TB}", offset_factor=1)
    C = T.match_buffer(c, ({N},), "{TC}", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:{N}], A[0:4], B[0:{N}, 0:4])
        T.writes(C[0:{N}])
        for i in T.vectorized({N}):
            C[i] = T.dot_add(C[i], A[T.Ramp(0, 1, 4)], B[i, T.Ramp(0, 1, 4)])
)";

std::optional<TensorIntrin> Make(std::string_view name) {
  for (const Named& named : kNames) {
    if (named.name != name) continue;
    const MachineInstruction* row = InstructionNamed("dot", named.types, named.suffix);
    TW_CHECK(row != nullptr) << named.name << " has no row";
    const std::string text = absl::StrReplaceAll(kText, {{"{N}", absl::StrCat(row->n)},
                                                         {"{TA}", row->a.type.ToString()},
                                                         {"{TB}", row->b.type.ToString()},
                                                         {"{TC}", row->c.type.ToString()}});
    return IntrinOfRow(text, {}, name, *row);
  }
  return std::nullopt;
}

}  // namespace

IntrinFamily DotVectorFamily() {
  std::vector<std::string> examples;
  for (const Named& named : kNames) examples.emplace_back(named.name);
  return {.prefix = "dot_",
          .description = "dot_16x4_vnni, dot_4x4_i8i8s32_sdot: C[N] += A[4] * B[N, 4], a vector of sums of bytes",
          .make = Make,
          .examples = std::move(examples)};
}

}  // namespace tilewright
