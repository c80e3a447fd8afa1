#include "intrin/fma_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "intrin/from_text.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "fma_";

// $0 = MR, $1 = NR, $2 = KR, $3 = lanes, $4 = vectors in a row of C, $5 = type.
constexpr absl::string_view kTile = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1, scope="register")
    B = T.match_buffer(b, ($2, $1), "$5", offset_factor=1)
    C = T.match_buffer(c, ($0, $1), "$5", offset_factor=1, scope="register")
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
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1, strides=[sa, 1], scope="register")
    B = T.match_buffer(b, ($2, $1), "$5", offset_factor=1, strides=[sb, 1])
    C = T.match_buffer(c, ($0, $1), "$5", offset_factor=1, strides=[sc, 1], scope="register")
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
  if (parts.size() != 3) return std::nullopt;
  const MachineInstruction* instruction =
      InstructionNamed("fma", {parts[0].data(), parts[0].size()}, {parts[2].data(), parts[2].size()});
  if (instruction == nullptr) return std::nullopt;
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[1], 'x');
  int mr, nr, kr;
  if (sizes.size() != 3 || !absl::SimpleAtoi(sizes[0], &mr) || !absl::SimpleAtoi(sizes[1], &nr) ||
      !absl::SimpleAtoi(sizes[2], &kr)) {
    return std::nullopt;
  }
  const int lanes = instruction->n;
  if (mr < 1 || kr < 1 || kr > 16 || nr < lanes || nr % lanes != 0) return std::nullopt;
  const int vectors = nr / lanes;
  if (mr * vectors + instruction->OtherRegisters(vectors) > instruction->registers) return std::nullopt;

  return IntrinOfRow(absl::Substitute(kTile, mr, nr, kr, lanes, vectors, instruction->c.type.ToString()), {}, full_name,
                     *instruction);
}

}  // namespace

std::string FmaTileName(const MachineInstruction& instruction, int mr, int nr, int kr) {
  return absl::StrCat(kPrefix, absl::string_view(instruction.types.data(), instruction.types.size()), "_", mr, "x", nr,
                      "x", kr, "_", absl::string_view(instruction.suffix.data(), instruction.suffix.size()));
}

IntrinFamily FmaTileFamily() {
  return {
      .prefix = std::string(kPrefix),
      .description =
          "fma_{f32|f16}_{MR}x{NR}x{KR}_{avx2|avx512|neon|fullfp16}: C[MR, NR] += A[MR, KR] * B[KR, NR] in registers",
      .make = Make,
      .examples = {"fma_f32_12x32x1_avx512", "fma_f32_14x32x2_avx512", "fma_f32_6x64x1_avx512", "fma_f32_1x16x4_avx512",
                   "fma_f32_6x16x1_avx2", "fma_f32_4x24x3_avx2", "fma_f32_8x12x1_neon", "fma_f32_5x20x4_neon",
                   "fma_f32_1x4x2_neon", "fma_f16_8x16x1_fullfp16", "fma_f16_3x24x4_fullfp16"}};
}

}  // namespace tilewright
