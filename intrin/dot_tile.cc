#include "intrin/dot_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "dot_";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
std::string_view Std(absl::string_view text) { return {text.data(), text.size()}; }
// $0 = MR, $1 = NR, $2 = KR, $3 = V, $4 = KR / V, $5 and $6 = types of A and B, $7 = type of C, $8 = lanes,
// $9 = vectors in a row of C.
constexpr absl::string_view kDescription = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1, scope="register")
    B = T.match_buffer(b, ($4, $1, $3), "$6", offset_factor=1)
    C = T.match_buffer(c, ($0, $1), "$7", offset_factor=1, scope="register")
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$4, 0:$1, 0:$3])
        T.writes(C[0:$0, 0:$1])
        for i, j, k in T.grid($0, $1, $2):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("$7", A[vi, vk]) * T.Cast("$7", B[vk // $3, vj, vk % $3])
)";

constexpr absl::string_view kImplementation = R"(
@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ($0, $2), "$5", offset_factor=1, strides=[sa, 1], scope="register")
    B = T.match_buffer(b, ($4, $1, $3), "$6", offset_factor=1, strides=[sb, $3, 1])
    C = T.match_buffer(c, ($0, $1), "$7", offset_factor=1, strides=[sc, 1], scope="register")
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$4, 0:$1, 0:$3])
        T.writes(C[0:$0, 0:$1])
        for k in T.unroll($4):
            for i in T.unroll($0):
                for v in T.unroll($9):
                    for l in T.vectorized($8):
                        C[i, v * $8 + l] = T.dot_add(C[i, v * $8 + l], A[i, T.Ramp(k * $3, 1, $3)],
                                                     B[k, v * $8 + l, T.Ramp(0, 1, $3)])
)";

std::optional<TensorIntrin> Make(std::string_view full_name) {
  absl::string_view name(full_name.data(), full_name.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(name.substr(kPrefix.size()), '_');
  if (parts.size() != 3) return std::nullopt;
  const MachineInstruction* instruction = InstructionNamed("dot", Std(parts[0]), Std(parts[2]));
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[1], 'x');
  int mr, nr, kr;
  if (instruction == nullptr || sizes.size() != 3 || !absl::SimpleAtoi(sizes[0], &mr) ||
      !absl::SimpleAtoi(sizes[1], &nr) || !absl::SimpleAtoi(sizes[2], &kr)) {
    return std::nullopt;
  }
  const int group = instruction->group(), lanes = instruction->n;
  if (mr < 1 || nr < lanes || nr % lanes != 0) return std::nullopt;
  if (kr < group || kr % group != 0 || kr > kMostDotGroups * group) return std::nullopt;
  const int vectors = nr / lanes;
  if (mr * vectors + instruction->OtherRegisters(vectors) > instruction->registers) return std::nullopt;

  auto parse = [&](absl::string_view text, const char* function) {
    absl::StatusOr<Module> module =
        ParseModule(absl::Substitute(text, mr, nr, kr, group, kr / group, instruction->a.type.ToString(),
                                     instruction->b.type.ToString(), instruction->c.type.ToString(), lanes, vectors),
                    full_name);
    TW_CHECK(module.ok()) << module.status().ToString();
    return module->Find(function);
  };
  TensorIntrin intrin;
  intrin.name = std::string(full_name);
  intrin.description = parse(kDescription, "desc");
  intrin.implementation = parse(kImplementation, "impl");
  intrin.features = instruction->FeatureNames();
  intrin.instruction = instruction;
  return intrin;
}

}  // namespace

std::string DotTileName(const MachineInstruction& instruction, int mr, int nr, int kr) {
  return absl::StrCat(kPrefix, View(instruction.types), "_", mr, "x", nr, "x", kr, "_", View(instruction.suffix));
}

IntrinFamily DotTileFamily() {
  return {.prefix = std::string(kPrefix),
          .description =
              "dot_{bf16|u8s8|s8s8|u8u8|s8u8|s16s16}_{MR}x{NR}x{KR}_"
              "{avx512bf16|avx512vnni|avxvnni|avxvnniint8|bf16|dotprod|i8mm}: "
              "C[MR, NR] += A[MR, KR] * B[KR / V, NR, V] in registers, V = 2 (bf16, s16) or 4",
          .make = Make,
          .examples = {"dot_bf16_12x32x2_avx512bf16", "dot_bf16_14x32x4_avx512bf16",   "dot_bf16_6x64x2_avx512bf16",
                       "dot_bf16_1x16x6_avx512bf16",  "dot_bf16_2x32x64_avx512bf16",   "dot_u8s8_12x32x4_avx512vnni",
                       "dot_u8s8_14x32x8_avx512vnni", "dot_u8s8_1x64x4_avx512vnni",    "dot_u8s8_6x16x4_avxvnni",
                       "dot_s8s8_4x24x4_avxvnniint8", "dot_s8s8_12x32x16_avx512vnni",  "dot_s8s8_1x16x4_avx512vnni",
                       "dot_s8s8_4x16x8_avxvnni",     "dot_s16s16_12x32x2_avx512vnni", "dot_s16s16_2x16x8_avx512vnni",
                       "dot_s16s16_4x16x4_avxvnni",   "dot_bf16_8x8x4_bf16",           "dot_u8s8_6x12x8_i8mm",
                       "dot_s8s8_8x8x16_dotprod",     "dot_u8u8_4x16x4_dotprod",       "dot_u8s8_6x8x16_dotprod",
                       "dot_s8u8_1x12x8_dotprod"}};
}

}  // namespace tilewright
