#include "intrin/cuda/dp4a.h"

#include "absl/strings/str_cat.h"
#include "intrin/cuda/warp_intrin.h"
#include "intrin/instructions.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "dp4a_";

constexpr absl::string_view kText = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "TYPE_A", offset_factor=1, align=4, scope="shared")
    B = T.match_buffer(b, (4,), "TYPE_B", offset_factor=1, align=4, scope="shared")
    C = T.match_buffer(c, (1,), "TYPE_C", offset_factor=1, align=4, scope="local")
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        for i in range(4):
            with T.block("tile"):
                vi = T.axis.reduce(4, i)
                C[0] = C[0] + T.Cast("TYPE_C", A[vi]) * T.Cast("TYPE_C", B[vi])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "TYPE_A", offset_factor=1, align=4, scope="shared")
    B = T.match_buffer(b, (4,), "TYPE_B", offset_factor=1, align=4, scope="shared")
    C = T.match_buffer(c, (1,), "TYPE_C", offset_factor=1, align=4, scope="local")
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        with T.attr(0, "cuda.value", VALUE):
            for i in range(4):
                C[0] = C[0] + T.Cast("TYPE_C", A[i]) * T.Cast("TYPE_C", B[i])
)";

std::optional<TensorIntrin> Make(std::string_view name) {
  const MachineInstruction* row = InstructionNamed("dp4a", name.substr(kPrefix.size()));
  if (row == nullptr) return std::nullopt;
  const auto wrapper = [](DataType type) { return type.is_uint() ? "tw::u8" : "tw::s8"; };
  std::string value = absl::StrCat(
      "T.cuda.dp4a(\"int32\", \"", wrapper(row->a.type), "\", \"", wrapper(row->b.type),
      "\", T.reinterpret(\"uint32\", A[0:4]), T.reinterpret(\"uint32\", B[0:4]), T.Cast(\"int32\", C[0]))");
  if (row->c.type.is_uint()) value = absl::StrCat("T.Cast(\"uint32\", ", value, ")");
  return IntrinOfRow(kText,
                     {{"VALUE", value},
                      {"TYPE_A", row->a.type.ToString()},
                      {"TYPE_B", row->b.type.ToString()},
                      {"TYPE_C", row->c.type.ToString()}},
                     name, *row);
}

}  // namespace

IntrinFamily Dp4aFamily() {
  std::vector<std::string> examples;
  for (const MachineInstruction& row : Instructions()) {
    if (row.family == "dp4a") examples.push_back(absl::StrCat(kPrefix, std::string(row.types)));
  }
  return {.prefix = std::string(kPrefix),
          .description = "dp4a_{s8|u8}{s8|u8}{s32|u32}: four products of bytes, added up by one thread",
          .make = Make,
          .examples = std::move(examples)};
}

}  // namespace tilewright
