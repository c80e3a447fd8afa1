// Scores of classifiers and regressors of ai.onnx.ml: what is done with them last, and labels.
#pragma once

#include "graph/onnx/node.h"

namespace tilewright::graph {

// [rows, classes] behind the node's post_transform: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT.
absl::StatusOr<Item> PostTransformed(OnnxNode& n, const Item& scores);
// The same behind the named one.
absl::StatusOr<Item> Transformed(OnnxNode& n, const Item& scores, const std::string& how);
// The labels of a classifier. Errors: strings.
absl::StatusOr<Int64s> LabelsOf(OnnxNode& n, const std::string& ints, const std::string& strings);
// The label of the greatest score of each row: [rows].
absl::StatusOr<Item> BestLabel(OnnxNode& n, const Item& scores, const Int64s& labels);
// The label of one score: the second where it is above a limit.
absl::StatusOr<Item> BinaryLabel(OnnxNode& n, const Item& score, const Int64s& labels, double above);
// Scores of both classes of one score [rows, 1], transformed: (1 - s, s), or (-s, s) where it is not a probability.
absl::StatusOr<Item> BothScores(OnnxNode& n, const Item& score, bool is_probability);

// A constant of f32 numbers.
Item FloatsItem(OnnxNode& n, const std::vector<double>& values, std::vector<int64_t> shape);
Item Int64sItem(OnnxNode& n, const Int64s& values, std::vector<int64_t> shape);

// Features [rows, count] as f32 or f64; a vector is one row. Errors: another rank, a symbolic count.
struct Features {
  Item x;
  int64_t count = 0;
};
absl::StatusOr<Features> FeaturesOf(OnnxNode& n);

}  // namespace tilewright::graph
