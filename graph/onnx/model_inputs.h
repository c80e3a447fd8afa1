// Arrays for the inputs of a model: as files, or made up.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ir/ndarray.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// FOLDER/NAME.npy; `/` and `:` of the name become `_`.
std::string ArrayPath(const std::string& folder, std::string name);

// Seeded random elements: floats in [-1, 1), others in [0, below). `dims` are the values of symbolic
// dimensions. An error says which one lacks a value, or what cannot be made up.
absl::StatusOr<NDArray> RandomInput(const onnx::ValueInfoProto& input, const std::map<std::string, int64_t>& dims,
                                    uint64_t seed, int64_t below = 2);

}  // namespace tilewright::graph
