#include "intrin/operand_layout.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr std::string_view kRowMajor = "lambda i, j: (i, j)";

// "lambda i, j: (i // 2, j, i % 2)" as an index map.
IndexMap Parse(std::string_view text) {
  const size_t names = text.find(' ') + 1, colon = text.find(": (", names), places = colon + 3;
  const std::string indices(text.substr(names, colon - names)), results(text.substr(places, text.size() - places - 1));
  std::string shape;
  for (auto i = std::ranges::count(results, ',') + 1; i > 0; --i) absl::StrAppend(&shape, "1,");
  const absl::StatusOr<Module> module =
      ParseModule(absl::StrCat("@T.prim_func\ndef map(P: T.Buffer((", shape, "), \"int8\")):\n    for ", indices,
                               " in T.grid(1, 1):\n        P[", results, "] = T.int8(0)\n"));
  TW_CHECK(module.ok()) << module.status().ToString();
  std::vector<Var> inputs;
  Stmt body = module->Find("map")->body;
  for (; isa<ForNode>(body); body = cast<ForNode>(body)->body) inputs.push_back(cast<ForNode>(body)->var);
  return IndexMap(std::move(inputs), cast<StoreNode>(body)->indices);
}

}  // namespace

TileLayout LayoutOf(const InstructionOperand& operand, int64_t rows, int64_t columns) {
  const IndexMap map = Parse(operand.layout.empty() ? kRowMajor : operand.layout);
  absl::StatusOr<TileLayout> layout = TileLayout::Of(map, {rows, columns}, static_cast<size_t>(operand.owners));
  TW_CHECK(layout.ok()) << layout.status().ToString();
  return *std::move(layout);
}

TileLayout LayoutOfSums(std::string_view family, int64_t columns) {
  const std::span<const MachineInstruction> rows = Instructions();
  const auto row = std::ranges::find(rows, family, &MachineInstruction::family);
  TW_CHECK(row != rows.end()) << "the table has no such family";
  const int64_t wide = row->n_step > 0 ? columns : row->n;
  return LayoutOf(row->c, row->m, wide).Repeat(1, columns / wide, 1);
}

TileLayout LayoutOfFragment(FragmentOperand operand, int bits, int depth) {
  constexpr int kColumns = 16;
  if (operand == FragmentOperand::kSum) return LayoutOfSums("mma", kColumns);
  const std::span<const MachineInstruction> rows = Instructions();
  const auto row = std::ranges::find_if(rows, [&](const MachineInstruction& candidate) {
    return candidate.family == "mma" && candidate.a.type.bits() == bits && candidate.k == depth;
  });
  TW_CHECK(row != rows.end()) << "the table has no such product";
  if (operand == FragmentOperand::kA) return LayoutOf(row->a, row->m, row->k);
  return LayoutOf(row->b, row->k, row->n).Repeat(1, kColumns / row->n, 1);
}

std::string PlaceText(const TileLayout& layout, size_t place, const std::vector<std::string>& names) {
  std::string text;
  for (size_t index = 0; index < names.size(); ++index) {
    for (const LayoutDigit& digit : layout.digits()) {
      if (digit.place != place || digit.sources[0].index != index) continue;
      TW_CHECK(digit.sources.size() == 1) << "script text of an exclusive or is not needed";
      const int64_t divisor = digit.sources[0].divisor;
      absl::StrAppend(&text, text.empty() ? "" : " + ", names[index]);
      if (divisor != 1) absl::StrAppend(&text, " // ", divisor);
      if (divisor * digit.extent != layout.shape()[index]) absl::StrAppend(&text, " % ", digit.extent);
      if (digit.stride != 1) absl::StrAppend(&text, " * ", digit.stride);
    }
  }
  return text.empty() ? "0" : text;
}

std::string OwnerText(const TileLayout& layout, const std::string& row, const std::string& column) {
  const std::vector<std::string> names = {absl::StrCat("(", row, ")"), absl::StrCat("(", column, ")")};
  return absl::StrCat(PlaceText(layout, 0, names), ", ", PlaceText(layout, 1, names));
}

ElementText ElementOf(const TileLayout& layout) {
  const TileLayout elements = layout.Inverse();
  return {PlaceText(elements, 0, {"tx", "e"}), PlaceText(elements, 1, {"tx", "e"}), layout.places()[1]};
}

}  // namespace tilewright
