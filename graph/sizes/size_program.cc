#include "graph/sizes/size_program.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/abi/c_symbol.h"
#include "graph/memory/memory_plan.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// A choice between two values that are equal where the first is chosen is the second: Select(n == 1, 1, n), an extent
// of broadcasts.
Expr WithoutChoice(const Expr& e) {
  const auto* select = dyn_cast<SelectNode>(e);
  const auto* equal = select != nullptr ? dyn_cast<BinaryNode>(select->condition) : nullptr;
  if (equal == nullptr || equal->op != BinaryOp::kEQ) return e;
  const auto are = [&](const Expr& a, const Expr& b) {
    return StructuralEqual(select->true_value, a) && StructuralEqual(select->false_value, b);
  };
  return are(equal->a, equal->b) || are(equal->b, equal->a) ? select->false_value : e;
}

}  // namespace

void SizeProgram::AddInput(const std::vector<Expr>& extents) {
  for (const Expr& extent : extents) {
    const auto* symbol = dyn_cast<SymbolNode>(extent);
    if (symbol == nullptr || known_.contains(Symbol(symbol))) continue;
    std::string name = CIdentifier(symbol->name);
    while (!names_.insert(name).second) absl::StrAppend(&name, "_");
    extents_.emplace_back(name, DataType::Int(64));
    known_.emplace(Symbol(symbol), extents_.back());
    analyzer_.Assume(extents_.back() >= Extent(0));
  }
}

absl::StatusOr<Expr> SizeProgram::Written(const Expr& e) const {
  for (const Symbol& symbol : FreeSymbols(std::vector<Expr>{e})) {
    if (known_.contains(symbol)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "the extent ", symbol.name(), " is that of no input; a library finds its extents in the shapes of its inputs"));
  }
  return WithoutChoice(arith::Simplify(Substitute(e, known_)));
}

absl::StatusOr<std::vector<Expr>> SizeProgram::Written(const std::vector<Expr>& all) const {
  std::vector<Expr> written;
  for (const Expr& e : all) {
    TW_ASSIGN_OR_RETURN(Expr one, Written(e));
    written.push_back(std::move(one));
  }
  return written;
}

absl::StatusOr<Expr> SizeProgram::Number(const Expr& e) {
  TW_ASSIGN_OR_RETURN(const Expr written, Written(e));
  return NumberOf(written);
}

Expr SizeProgram::NumberOf(const Expr& written) {
  if (const std::optional<int64_t> value = AsInt(written)) return Extent(*value);
  if (isa<SymbolNode>(written)) return written;
  const auto [it, fresh] = by_text_.try_emplace(Print(written));
  if (!fresh) return it->second;
  it->second = Symbol(absl::StrCat("size", sizes_.size()), DataType::Int(64));
  sizes_.push_back({it->second, written});
  return it->second;
}

std::vector<Expr> SizeProgram::NumbersOf(const std::vector<Expr>& written) {
  std::vector<Expr> numbers;
  for (const Expr& e : written) numbers.push_back(NumberOf(e));
  return numbers;
}

absl::Status SizeProgram::AddCheck(const Expr& written, std::string sentence, const std::vector<Symbol>& named) {
  const Expr condition = arith::Simplify(written);
  const std::optional<int64_t> value = AsInt(condition);
  if (value && *value == 0) return absl::InvalidArgumentError(absl::StrCat(sentence, "never"));
  if (value || analyzer_.CanProve(condition) || !checked_.insert(Print(condition)).second) return absl::OkStatus();
  SizedSequence::Check check{.holds = condition, .sentence = std::move(sentence)};
  for (const Symbol& symbol : named) check.named.emplace_back(symbol.name(), NumberOf(known_.at(symbol)));
  checks_.push_back(std::move(check));
  analyzer_.Assume(condition);
  return absl::OkStatus();
}

absl::Status SizeProgram::Require(const Expr& condition, std::string_view about) {
  TW_ASSIGN_OR_RETURN(const Expr written, Written(condition));
  const std::string who = about.empty() ? "the model" : std::string(about);
  return AddCheck(written, absl::StrCat(who, " needs ", PrintExtent(condition), ", but "),
                  FreeSymbols(std::vector<Expr>{condition}));
}

absl::Status SizeProgram::RequireWritten(const Expr& condition, std::string_view about) {
  const size_t before = checks_.size();
  TW_RETURN_IF_ERROR(
      AddCheck(condition, absl::StrCat(std::string(about), " needs ", PrintExtent(condition), ", but "), {}));
  if (checks_.size() == before) return absl::OkStatus();
  for (const Symbol& extent : FreeSymbols(std::vector<Expr>{condition})) {
    checks_.back().named.emplace_back(extent.name(), extent);
  }
  return absl::OkStatus();
}

// RoundedBytes has the same steps.
Expr RoundedSize(SizeProgram& sizes, const Expr& bytes) {
  if (const std::optional<int64_t> value = AsInt(bytes)) return Extent(RoundedBytes(*value));
  const Expr line = Extent(kArenaAlignment);
  const Expr lines = sizes.NumberOf(Max(FloorDiv(bytes + Extent(kArenaAlignment - 1), line), Extent(1)) * line);
  // A multiple of what is staggered: one line more, as for a constant.
  const int64_t staggered = 4096;
  static_assert(kArenaAlignment < 4096);
  const Expr is_staggered = And(lines >= Extent(staggered), FloorMod(lines, Extent(staggered)) == Extent(0));
  return sizes.NumberOf(Select(is_staggered, lines + line, lines));
}

}  // namespace tilewright::graph
