#include "bench/operators/shapes.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {
namespace {

struct Row {
  Operator op;
  const char* name;
  const char* signature;  // the last `optional` names may be left out
  // Shapes separated by blanks, in the order of the signature.
  const char* standard_shapes;
  int optional = 0;
};

constexpr Row kRows[] = {
    {Operator::kGmm, "GMM", "B,M,N,K", "1,128,128,128 1,512,32,512 1,512,512,512 1,1024,1024,1024 1,2048,2048,2048"},
    {Operator::kGmmT, "GMMt", "B,M,N,K", "1,128,128,128 1,512,512,512 1,1024,1024,1024"},
    {Operator::kC1d, "C1D", "N,L,CI,CO,k,s,p",
     "1,256,64,128,3,2,1 1,128,128,256,1,2,0 1,64,256,256,5,1,2 1,32,512,512,3,1,1"},
    {Operator::kC2d, "C2D", "N,H,W,CI,CO,k,s,p",
     "1,224,224,3,64,7,2,3 1,56,56,64,64,1,1,0 1,56,56,64,64,3,1,1 1,14,14,256,256,3,1,1 1,7,7,512,512,3,1,1 "
     "1,28,28,128,512,1,1,0"},
    {Operator::kC3d, "C3D", "N,D,H,W,CI,CO,k,s,p",
     "1,16,224,224,3,64,7,2,3 1,16,56,56,64,64,1,1,0 1,16,14,14,256,256,3,1,1 1,16,7,7,512,512,3,1,1"},
    {Operator::kDep, "DEP", "N,H,W,C,k,s,p",
     "1,112,112,32,3,1,1 1,112,112,64,3,2,1 1,14,14,512,3,2,1 1,7,7,1024,3,1,1"},
    {Operator::kDil, "DIL", "N,H,W,CI,CO,k,s,p,d",
     "1,224,224,3,64,7,2,3,2 1,56,56,64,64,1,1,0,2 1,14,14,256,256,3,1,1,2 1,7,7,512,512,3,1,1,2"},
    {Operator::kGrp, "GRP", "N,H,W,CI,CO,k,s,p,g",
     "1,56,56,64,128,3,2,1,4 1,56,56,64,64,1,1,0,4 1,14,14,256,256,3,1,1,4 1,7,7,512,512,3,1,1,4"},
    {Operator::kT2d, "T2D", "N,H,W,CI,CO,k,s,p",
     "1,4,4,512,256,4,2,1 1,8,8,256,128,4,2,1 1,16,16,128,64,4,2,1 1,32,32,64,3,4,2,1"},
    {Operator::kCbr, "CBR", "N,H,W,CI,CO,k,s,p", "1,224,224,3,64,7,2,3 1,56,56,64,64,3,1,1"},
    {Operator::kTbg, "TBG", "B,S,heads,dim", "1,128,12,64 1,128,16,64 1,64,12,128"},
    {Operator::kAtt, "ATT", "B,heads,S,dim,causal,queries,key_heads,window",
     "1,12,512,64,0 1,12,1024,64,1 1,16,512,128,0 1,12,4096,64,0,1", 3},
    {Operator::kSfm, "SFM", "rows,cols", "256,256 512,512 1024,1024 2048,2048"},
    {Operator::kNrm, "NRM", "rows,cols", "256,256 1024,1024"},
    {Operator::kLn, "LN", "rows,cols", "512,1024 4096,1024"},
    {Operator::kGelu, "GELU", "rows,cols", "512,4096 4096,4096"},
};

const Row& RowOf(Operator op) { return kRows[static_cast<size_t>(op)]; }

const Row* FindRow(std::string_view name) {
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

absl::Status UnknownOperator(std::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown operator '", std::string(name), "'; there are ",
      absl::StrJoin(kRows, ", ", [](std::string* out, const Row& row) { absl::StrAppend(out, row.name); })));
}

int CountNames(std::string_view signature) {
  return 1 + static_cast<int>(std::count(signature.begin(), signature.end(), ','));
}

absl::Status Check(const Shape& shape) {
  const Row& row = RowOf(shape.op);
  const int most = CountNames(row.signature), least = most - row.optional;
  const int count = static_cast<int>(shape.numbers.size());
  if (count < least || count > most) {
    const std::string takes = least == most ? absl::StrCat(most) : absl::StrCat(least, " to ", most);
    return absl::InvalidArgumentError(absl::StrCat(row.name, ":", NumbersText(shape), " has ", count, " numbers; ",
                                                   row.name, " takes ", takes, ": ", row.signature));
  }
  return MakeProblem(shape).status();
}

}  // namespace

std::string_view Name(Operator op) { return RowOf(op).name; }
std::string_view Signature(Operator op) { return RowOf(op).signature; }
std::string NumbersText(const Shape& shape) { return absl::StrJoin(shape.numbers, ","); }

std::optional<int64_t> NumberOf(const Shape& shape, std::string_view name) {
  const std::vector<std::string> names = absl::StrSplit(std::string(Signature(shape.op)), ',');
  for (size_t i = 0; i < shape.numbers.size() && i < names.size(); ++i) {
    if (names[i] == name) return shape.numbers[i];
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Operator>> ParseOperators(std::string_view text) {
  std::vector<Operator> operators;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    if (word == "all") {
      for (const Row& row : kRows) operators.push_back(row.op);
      continue;
    }
    const Row* row = FindRow(word);
    if (row == nullptr) return UnknownOperator(word);
    operators.push_back(row->op);
  }
  return operators;
}

absl::StatusOr<std::vector<Shape>> ParseShapes(std::string_view text) {
  std::vector<Shape> shapes;
  // A word that holds a colon begins a shape; the words after it are its numbers.
  for (std::string word :
       std::vector<std::string>(absl::StrSplit(std::string(text), absl::ByAnyChar(",; "), absl::SkipEmpty()))) {
    if (const size_t colon = word.find(':'); colon != std::string::npos) {
      const Row* row = FindRow(word.substr(0, colon));
      if (row == nullptr) return UnknownOperator(word.substr(0, colon));
      shapes.push_back({row->op, {}});
      word.erase(0, colon + 1);
    }
    int64_t number = 0;
    if (!absl::SimpleAtoi(word, &number)) {
      return absl::InvalidArgumentError(absl::StrCat("'", word, "' in '", std::string(text), "' is not a number"));
    }
    if (shapes.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", std::string(text), "' does not begin with an operator, such as GMM:1,512,512,512"));
    }
    shapes.back().numbers.push_back(number);
  }
  if (shapes.empty()) return absl::InvalidArgumentError("no shape given");
  for (const Shape& shape : shapes) {
    TW_RETURN_IF_ERROR(Check(shape));
  }
  return shapes;
}

absl::StatusOr<std::vector<Shape>> WithBatches(const std::vector<Shape>& shapes, std::string_view batches) {
  if (batches.empty()) return shapes;
  std::vector<Shape> result;
  bool first = true;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(std::string(batches), ','))) {
    int64_t batch = 0;
    if (!absl::SimpleAtoi(word, &batch)) return absl::InvalidArgumentError(absl::StrCat("'", word, "' is not a batch"));
    for (Shape shape : shapes) {
      const bool rows = Signature(shape.op).starts_with("rows");
      if (rows && !first) continue;
      if (!rows) shape.numbers[0] = batch;
      TW_RETURN_IF_ERROR(Check(shape));
      result.push_back(std::move(shape));
    }
    first = false;
  }
  return result;
}

absl::StatusOr<std::vector<Shape>> WithAttentionNumbers(const std::vector<Shape>& shapes,
                                                        const AttentionNumbers& numbers) {
  const std::vector<int64_t> further = {numbers.queries, numbers.key_heads, numbers.window};
  if (std::ranges::all_of(further, [](int64_t number) { return number == 0; })) return shapes;
  std::vector<Shape> result = shapes;
  bool found = false;
  for (Shape& shape : result) {
    if (shape.op != Operator::kAtt) continue;
    found = true;
    const size_t first = static_cast<size_t>(CountNames(Signature(shape.op))) - further.size();
    shape.numbers.resize(first + further.size(), 0);
    for (size_t i = 0; i < further.size(); ++i) {
      if (further[i] != 0) shape.numbers[first + i] = further[i];
    }
    while (shape.numbers.size() > first && shape.numbers.back() == 0) shape.numbers.pop_back();
    TW_RETURN_IF_ERROR(Check(shape));
  }
  if (!found)
    return absl::InvalidArgumentError("queries, key heads and windows are those of ATT, which is not measured");
  return result;
}

std::vector<Shape> StandardShapes(Operator op) {
  std::vector<Shape> shapes;
  for (const std::string& numbers : std::vector<std::string>(absl::StrSplit(RowOf(op).standard_shapes, ' '))) {
    shapes.push_back(ParseShapes(absl::StrCat(RowOf(op).name, ":", numbers)).value().front());
  }
  return shapes;
}

std::vector<Shape> DefaultShapes() {
  std::vector<Shape> shapes;
  for (int64_t size : {128, 512, 1024, 2048}) shapes.push_back({Operator::kGmm, {1, size, size, size}});
  for (Shape& shape : StandardShapes(Operator::kC2d)) shapes.push_back(std::move(shape));
  return shapes;
}

}  // namespace tilewright::bench
