// Operators and their shapes, as they are written on the command line: `OP:numbers`, for instance
// `GMM:1,512,512,512`. The order of an operator's numbers is in the table in README.md and in `Signature`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tilewright::bench {

enum class Operator { kGmm, kGmmT, kC1d, kC2d, kC3d, kDep, kDil, kGrp, kT2d, kCbr, kTbg, kAtt, kSfm, kNrm, kLn, kGelu };

struct Shape {
  Operator op;
  std::vector<int64_t> numbers;

  friend bool operator==(const Shape&, const Shape&) = default;
};

// "GMM", "GMMt", "C2D", ...
std::string_view Name(Operator op);

// Names of the numbers, such as "N,H,W,CI,CO,k,s,p", those that a shape may leave out included.
std::string_view Signature(Operator op);

// The numbers alone: "1,512,512,512".
std::string NumbersText(const Shape& shape);

// The shape's number of that name; nothing where the operator does not have it, or the shape leaves it out.
std::optional<int64_t> NumberOf(const Shape& shape, std::string_view name);

// "GMM,C2D" -> {kGmm, kC2d}; "all" stands for every operator.
absl::StatusOr<std::vector<Operator>> ParseOperators(std::string_view text);

// One or more shapes, separated by commas, semicolons or blanks: "GMM:1,8,8,8,C2D:1,7,7,8,8,3,1,1;GMM:2,4,4,4".
// Refuses unknown operators, a wrong count of numbers, numbers that are not positive (padding may be zero), groups that
// do not divide the channels, and kernels larger than the padded input.
absl::StatusOr<std::vector<Shape>> ParseShapes(std::string_view text);

// Each shape with each of the batches "1,16" as its first number; the shapes themselves where the text is empty and
// those of operators on rows, which do not have a batch.
absl::StatusOr<std::vector<Shape>> WithBatches(const std::vector<Shape>& shapes, std::string_view batches);

// The shapes, those of ATT with these further numbers; 0 leaves one as it is. Refuses numbers where no shape is of ATT.
struct AttentionNumbers {
  int64_t queries = 0, key_heads = 0, window = 0;
};
absl::StatusOr<std::vector<Shape>> WithAttentionNumbers(const std::vector<Shape>& shapes,
                                                        const AttentionNumbers& numbers);

// The shapes that an operator is measured on when the user names the operator alone.
std::vector<Shape> StandardShapes(Operator op);

// What is measured when the user names nothing.
std::vector<Shape> DefaultShapes();

}  // namespace tilewright::bench
