#include "intrin/transpose_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "ir/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "transpose_";
constexpr int kGroupBits = 32;
constexpr DataType kTypes[] = {DataType::Float(32), DataType::Int(32), DataType::BFloat16(),
                               DataType::Float(16), DataType::Int(8),  DataType::UInt(8)};

// $0 = L, $1 = L * V, $2 = V, $3 = the type, $4 = the shape of B, $5 = what B is indexed by, $6 = the whole of B
constexpr absl::string_view kDescription = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle):
    A = T.match_buffer(a, ($0, $1), "$3", offset_factor=1)
    B = T.match_buffer(b, ($4), "$3", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:$0, 0:$1])
        T.writes(B[$6])
        for i, k in T.grid($0, $1):
            with T.block("tile"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[$5] = A[vi, vk]
)";

// $7 = strides of B, $8 = the steps
constexpr absl::string_view kImplementation = R"(
@T.prim_func
def impl(a: T.handle, b: T.handle):
    sa = T.int32()
    sb = T.int32()
    A = T.match_buffer(a, ($0, $1), "$3", offset_factor=1, strides=[sa, 1])
    B = T.match_buffer(b, ($4), "$3", offset_factor=1, strides=[sb, $7])
    with T.block("root"):
        T.reads(A[0:$0, 0:$1])
        T.writes(B[$6])
$8)";

// One of the steps: within pairs of rows `distance` apart, the groups that lie on the wrong side of them change places.
std::string Step(int number, int side, int distance, absl::string_view type) {
  std::vector<int> upper, lower;
  for (int k = 0; k < side; ++k) {
    const bool right = (k & distance) != 0;
    upper.push_back(right ? side + k - distance : k);
    lower.push_back(right ? side + k : k + distance);
  }
  std::string text =
      absl::Substitute("        R$0 = T.alloc_buffer(($1, $1), \"$2\", scope=\"register\")\n", number + 1, side, type);
  for (int i = 0; i < side; ++i) {
    const int first = i & ~distance, second = first | distance;
    absl::StrAppend(
        &text, absl::Substitute("        R$0[$1, 0:$2] = T.Shuffle([R$3[$4, 0:$2], R$3[$5, 0:$2]], [$6])\n", number + 1,
                                i, side, number, first, second, absl::StrJoin(i == first ? upper : lower, ", ")));
  }
  return text;
}

std::string Steps(int side, int group, absl::string_view type) {
  const absl::string_view register_type = group == 1 ? type : "int32";
  std::string text = absl::Substitute(
      R"(        R0 = T.alloc_buffer(($0, $0), "$1", scope="register")
        for i in T.unroll($0):
            for l in T.vectorized($0):
                R0[i, l] = $2
)",
      side, register_type,
      group == 1 ? "A[i, l]" : absl::Substitute("T.reinterpret(\"int32\", A[i, T.Ramp(l * $0, 1, $0)])", group));
  int number = 0;
  for (int distance = 1; distance < side; distance *= 2) text += Step(number++, side, distance, register_type);
  absl::StrAppend(
      &text,
      absl::Substitute(R"(        for k in T.unroll($0):
            for l in T.vectorized($0):
                $1
)",
                       side,
                       group == 1 ? absl::Substitute("B[k, l] = R$0[k, l]", number)
                                  : absl::Substitute("B[k, l, T.Ramp(0, 1, $1)] = T.reinterpret(\"$2x$1\", R$0[k, l])",
                                                     number, group, type)));
  return text;
}

std::optional<TensorIntrin> Make(std::string_view full_name) {
  absl::string_view name(full_name.data(), full_name.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(name.substr(kPrefix.size()), '_');
  if (parts.size() != 2 || (parts[1] != "8x8" && parts[1] != "16x16")) return std::nullopt;
  const int side = parts[1] == "8x8" ? 8 : 16;
  for (const DataType& type : kTypes) {
    const std::string type_name = type.ToString();
    if (parts[0] != type_name) continue;
    const int group = kGroupBits / type.bits();
    const bool single = group == 1;
    const std::string shape = single ? absl::Substitute("$0, $0", side) : absl::Substitute("$0, $0, $1", side, group);
    const std::string whole =
        single ? absl::Substitute("0:$0, 0:$0", side) : absl::Substitute("0:$0, 0:$0, 0:$1", side, group);
    const std::string index = single ? "vk, vi" : absl::Substitute("vk // $0, vi, vk % $0", group);
    auto parse = [&](absl::string_view text, const char* function) {
      absl::StatusOr<Module> module =
          ParseModule(absl::Substitute(text, side, side * group, group, type_name, shape, index, whole,
                                       single ? "1" : absl::StrCat(group, ", 1"), Steps(side, group, type_name)),
                      full_name);
      TW_CHECK(module.ok()) << module.status().ToString();
      return module->Find(function);
    };
    TensorIntrin intrin;
    intrin.name = std::string(full_name);
    intrin.description = parse(kDescription, "desc");
    intrin.implementation = parse(kImplementation, "impl");
    intrin.features = {side == 16 ? "avx512f" : "avx2"};
    intrin.cycles = side * 6.0;  // loads, shuffles and stores, one a cycle
    return intrin;
  }
  return std::nullopt;
}

}  // namespace

IntrinFamily TransposeTileFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "transpose_{type}_{L}x{L}: B[k // V, i, k % V] = A[i, k] for groups of V elements of 32 bits",
          .make = Make,
          .examples = {"transpose_float32_16x16", "transpose_bfloat16_16x16", "transpose_int8_16x16",
                       "transpose_uint8_8x8", "transpose_float32_8x8"}};
}

std::optional<TransposeTile> FindTransposeTile(const Target& target, DataType type) {
  if (target.kind != TargetKind::kX86 || !target.has("avx2")) return std::nullopt;
  for (const DataType& known : kTypes) {
    if (known != type) continue;
    const int side = target.has("avx512f") ? 16 : 8;
    return TransposeTile{absl::StrCat(kPrefix, type.ToString(), "_", side, "x", side), side, kGroupBits / type.bits()};
  }
  return std::nullopt;
}

}  // namespace tilewright
