#include "intrin/cuda/dp4a.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "dp4a_";

struct Operands {
  absl::string_view name, a, b, sum;
};
constexpr Operands kOperands[] = {
    {"s8s8s32", "int8", "int8", "int32"},
    {"s8u8s32", "int8", "uint8", "int32"},
    {"u8s8s32", "uint8", "int8", "int32"},
    {"u8u8u32", "uint8", "uint8", "uint32"},
};

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
  const absl::string_view rest = absl::string_view(name.data(), name.size()).substr(kPrefix.size());
  for (const Operands& operands : kOperands) {
    if (operands.name != rest) continue;
    const auto wrapper = [](absl::string_view type) { return type == "int8" ? "tw::s8" : "tw::u8"; };
    std::string value = absl::StrCat(
        "T.cuda.dp4a(\"int32\", \"", wrapper(operands.a), "\", \"", wrapper(operands.b),
        "\", T.reinterpret(\"uint32\", A[0:4]), T.reinterpret(\"uint32\", B[0:4]), T.Cast(\"int32\", C[0]))");
    if (operands.sum == "uint32") value = absl::StrCat("T.Cast(\"uint32\", ", value, ")");
    const std::string text = absl::StrReplaceAll(kText, {{"VALUE", value},
                                                         {"TYPE_A", std::string(operands.a)},
                                                         {"TYPE_B", std::string(operands.b)},
                                                         {"TYPE_C", std::string(operands.sum)}});
    absl::StatusOr<Module> module = ParseModule(text, name);
    TW_CHECK(module.ok()) << module.status().ToString();
    TensorIntrin intrin;
    intrin.name = std::string(name);
    intrin.description = module->Find("desc");
    intrin.implementation = module->Find("impl");
    intrin.features = {"dp4a"};
    return intrin;
  }
  return std::nullopt;
}

}  // namespace

IntrinFamily Dp4aFamily() {
  std::vector<std::string> examples;
  for (const Operands& operands : kOperands) examples.push_back(absl::StrCat(kPrefix, operands.name));
  return {.prefix = std::string(kPrefix),
          .description = "dp4a_{s8|u8}{s8|u8}{s32|u32}: four products of bytes, added up by one thread",
          .make = Make,
          .examples = std::move(examples)};
}

}  // namespace tilewright
