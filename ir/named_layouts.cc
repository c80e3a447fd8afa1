#include "ir/named_layouts.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

constexpr int64_t kSpans[] = {32, 64, 128};
constexpr int64_t kChunkBytes = 16;

}  // namespace

std::optional<int64_t> SwizzleSpan(std::string_view name) {
  for (const int64_t span : kSpans) {
    if (SwizzleNamed(span) == name) return span;
  }
  return std::nullopt;
}

std::string SwizzleNamed(int64_t span) { return absl::StrCat("swizzle_", span, "B"); }

absl::StatusOr<Layout> LayoutNamed(std::string_view name, const std::vector<Expr>& shape, DataType type) {
  const std::optional<int64_t> span = SwizzleSpan(name);
  if (!span) return absl::InvalidArgumentError(absl::StrCat("there is no layout ", std::string(name)));
  const size_t rank = shape.size();
  const std::optional<int64_t> rows = rank < 2 ? std::nullopt : AsInt(shape[rank - 2]);
  const std::optional<int64_t> columns = rank < 2 ? std::nullopt : AsInt(shape[rank - 1]);
  if (!rows || !columns) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(name), " needs two last dimensions with constant extents"));
  }
  const int64_t bytes = int64_t{type.bits()} * type.lanes() / 8;
  if (bytes == 0 || kChunkBytes % bytes != 0 || *columns * bytes % *span != 0 || *rows % kSwizzleRows != 0) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(name), " needs rows of a multiple of ", *span,
                                                   " bytes, and a multiple of 8 of them, not ", *rows, " rows of ",
                                                   *columns * bytes, " bytes"));
  }
  const DataType index = shape[rank - 1].dtype();
  const auto number = [&](int64_t value) { return Const(index, value); };
  std::vector<Var> inputs;
  for (size_t d = 0; d < rank; ++d) inputs.emplace_back(absl::StrCat("i", d), index);
  const Expr row = inputs[rank - 2], column = inputs[rank - 1];
  const int64_t width = *span / bytes, chunk = kChunkBytes / bytes, chunks = *span / kChunkBytes;
  std::vector<Expr> outputs(inputs.begin(), inputs.end() - 2), extents(shape.begin(), shape.end() - 2);
  const Expr key = FloorMod(FloorDiv(row, number(kSwizzleRows / chunks)), number(chunks));
  const Expr place = Call(index, "bitwise_xor", {FloorDiv(FloorMod(column, number(width)), number(chunk)), key});
  outputs.insert(outputs.end(),
                 {FloorDiv(column, number(width)), row, place * number(chunk) + FloorMod(column, number(chunk))});
  extents.insert(extents.end(), {number(*columns / width), shape[rank - 2], number(width)});
  return Layout{IndexMap(std::move(inputs), std::move(outputs)), 0, std::move(extents)};
}

}  // namespace tilewright
