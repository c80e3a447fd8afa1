#include "intrin/fma_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "fma_f32_";

// $0 = MR, $1 = NR, $2 = KR, $3 = lanes, $4 = vectors in a row of C.
constexpr absl::string_view kTile = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "float32", offset_factor=1, scope="register")
    B = T.match_buffer(b, ($2, $1), "float32", offset_factor=1)
    C = T.match_buffer(c, ($0, $1), "float32", offset_factor=1, scope="register")
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$2, 0:$1])
        T.writes(C[0:$0, 0:$1])
        for i, j, k in T.grid($0, $1, $2):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ($0, $2), "float32", offset_factor=1, strides=[sa, 1], scope="register")
    B = T.match_buffer(b, ($2, $1), "float32", offset_factor=1, strides=[sb, 1])
    C = T.match_buffer(c, ($0, $1), "float32", offset_factor=1, strides=[sc, 1], scope="register")
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$2, 0:$1])
        T.writes(C[0:$0, 0:$1])
        for k in T.unroll($2):
            for i in T.unroll($0):
                for v in T.unroll($4):
                    for l in T.vectorized($3):
                        C[i, v * $3 + l] = C[i, v * $3 + l] + A[i, k] * B[k, v * $3 + l]
)";

std::optional<TensorIntrin> Make(std::string_view full_name) {
  absl::string_view name(full_name.data(), full_name.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(name.substr(kPrefix.size()), '_');
  if (parts.size() != 2 || (parts[1] != "avx2" && parts[1] != "avx512")) return std::nullopt;
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[0], 'x');
  int mr, nr, kr;
  if (sizes.size() != 3 || !absl::SimpleAtoi(sizes[0], &mr) || !absl::SimpleAtoi(sizes[1], &nr) ||
      !absl::SimpleAtoi(sizes[2], &kr)) {
    return std::nullopt;
  }
  const bool avx512 = parts[1] == "avx512";
  const int lanes = avx512 ? 16 : 8, registers = avx512 ? 32 : 16;
  if (mr < 1 || kr < 1 || kr > 16 || nr < lanes || nr % lanes != 0) return std::nullopt;
  const int vectors = nr / lanes;
  if (mr * vectors + vectors + 1 > registers) return std::nullopt;

  absl::StatusOr<Module> module = ParseModule(absl::Substitute(kTile, mr, nr, kr, lanes, vectors), full_name);
  TW_CHECK(module.ok()) << module.status().ToString();
  TensorIntrin intrin;
  intrin.name = std::string(full_name);
  intrin.description = module->Find("desc");
  intrin.implementation = module->Find("impl");
  intrin.features = avx512 ? std::vector<std::string>{"avx512f"} : std::vector<std::string>{"avx2", "fma"};
  intrin.cycles = static_cast<double>(mr) * vectors * kr;  // one FMA a cycle
  return intrin;
}

}  // namespace

std::string FmaTileName(int mr, int nr, int kr, bool avx512) {
  return absl::StrCat(kPrefix, mr, "x", nr, "x", kr, "_", avx512 ? "avx512" : "avx2");
}

IntrinFamily FmaTileFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "fma_f32_{MR}x{NR}x{KR}_{avx2|avx512}: C[MR, NR] += A[MR, KR] * B[KR, NR] in registers",
          .make = Make,
          .examples = {FmaTileName(12, 32, 1, true), FmaTileName(14, 32, 2, true), FmaTileName(6, 64, 1, true),
                       FmaTileName(1, 16, 4, true), FmaTileName(6, 16, 1, false), FmaTileName(4, 24, 3, false)}};
}

}  // namespace tilewright
