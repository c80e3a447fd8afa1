// What ONNX says of an operator's form at each opset: how many inputs and outputs a node has, and which attributes.
//
//   TW_RETURN_IF_ERROR(CheckNodeForm("", node, 17));   // "the attribute stride is not one of Conv's (opset 17): ..."
//
// A file that breaks these rules is damaged, or written by hand with a misspelt name; ONNX's own checker refuses it.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// One operator. `inputs` and `outputs`: "1 2-3@11 2-*@13" is one up to opset 10, two or three from 11, two or more from
// 13. `attributes`: "mode pads@2-10 axes@18-" has pads from opset 2 to 10 and axes from opset 18.
struct SignatureRow {
  const char *domain, *name, *inputs, *outputs, *attributes;
};
// Sorted by domain and name; make_signatures.py writes it.
std::span<const SignatureRow> SignatureTable();

// Null where nothing is known of the operator.
const SignatureRow* FindSignature(absl::string_view domain, absl::string_view name);

// An error where an attribute occurs twice.
absl::Status CheckAttributesAreUnique(const onnx::NodeProto& node);

// An error where the node has an attribute that its operator does not have at this opset, too few or too many inputs,
// or too many outputs. Attributes whose names begin with two underscores are annotations. Operators of com.microsoft
// gain attributes without a new opset, and 0 (or nothing) is their default: an unknown one with that value is accepted.
absl::Status CheckNodeForm(absl::string_view domain, const onnx::NodeProto& node, int64_t opset);

}  // namespace tilewright::graph
