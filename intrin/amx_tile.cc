#include "intrin/amx_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "ir/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "amx_";
constexpr int kMostRows = 16;  // of a tile register, also its columns and groups

struct Operands {
  absl::string_view name, a, b, c;
  int group;
  const char* feature;
};
constexpr Operands kOperands[] = {
    {"bf16", "bfloat16", "bfloat16", "float32", 2, "amx-bf16"}, {"s8s8", "int8", "int8", "int32", 4, "amx-int8"},
    {"s8u8", "int8", "uint8", "int32", 4, "amx-int8"},          {"u8s8", "uint8", "int8", "int32", 4, "amx-int8"},
    {"u8u8", "uint8", "uint8", "int32", 4, "amx-int8"},
};

// $0 = MR, $1 = NR, $2 = KR, $3 = V, $4 = KR / V, $5, $6, $7 = types of A, B and C.
constexpr absl::string_view kTile = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1)
    B = T.match_buffer(b, ($4, $1, $3), "$6", offset_factor=1)
    C = T.match_buffer(c, ($0, $1), "$7", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$4, 0:$1, 0:$3])
        T.writes(C[0:$0, 0:$1])
        for i, j, k in T.grid($0, $1, $2):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("$7", A[vi, vk]) * T.Cast("$7", B[vk // $3, vj, vk % $3])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1, strides=[sa, 1])
    B = T.match_buffer(b, ($4, $1, $3), "$6", offset_factor=1, strides=[sb, $3, 1])
    C = T.match_buffer(c, ($0, $1), "$7", offset_factor=1, strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$4, 0:$1, 0:$3])
        T.writes(C[0:$0, 0:$1])
        T.evaluate(T.amx_dot_add(C.access_ptr("rw"), sc, A.access_ptr("r"), sa, B.access_ptr("r"), sb, $0, $1, $2))
)";

std::optional<TensorIntrin> Make(std::string_view full_name) {
  absl::string_view name(full_name.data(), full_name.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(name.substr(kPrefix.size()), '_');
  if (parts.size() != 2) return std::nullopt;
  const Operands* operands = nullptr;
  for (const Operands& candidate : kOperands) {
    if (candidate.name == parts[0]) operands = &candidate;
  }
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[1], 'x');
  int mr, nr, kr;
  if (operands == nullptr || sizes.size() != 3 || !absl::SimpleAtoi(sizes[0], &mr) ||
      !absl::SimpleAtoi(sizes[1], &nr) || !absl::SimpleAtoi(sizes[2], &kr)) {
    return std::nullopt;
  }
  const int group = operands->group;
  if (mr < 1 || mr > kMostRows || nr < 1 || nr > kMostRows || kr < group || kr % group != 0 || kr / group > kMostRows) {
    return std::nullopt;
  }
  absl::StatusOr<Module> module = ParseModule(
      absl::Substitute(kTile, mr, nr, kr, group, kr / group, operands->a, operands->b, operands->c), full_name);
  TW_CHECK(module.ok()) << module.status().ToString();
  TensorIntrin intrin;
  intrin.name = std::string(full_name);
  intrin.description = module->Find("desc");
  intrin.implementation = module->Find("impl");
  intrin.features = {"amx-tile", operands->feature};
  intrin.cycles = 16;  // of the multiplication; loads and stores of the tiles may take longer
  return intrin;
}

}  // namespace

IntrinFamily AmxTileFamily() {
  return {.prefix = std::string(kPrefix),
          .description =
              "amx_{bf16|s8s8|s8u8|u8s8|u8u8}_{MR}x{NR}x{KR}: C[MR, NR] += A[MR, KR] * B[KR / V, NR, V] by "
              "tile registers, V = 2 (bf16) or 4",
          .make = Make,
          .examples = {"amx_bf16_16x16x32", "amx_u8s8_16x16x64", "amx_s8s8_16x16x64", "amx_s8u8_3x16x8",
                       "amx_u8u8_16x5x4"}};
}

}  // namespace tilewright
