// Operators that compute each element of the output from the same element of the inputs.
#pragma once

#include <functional>

#include "ir/function.h"
#include "ir/ops/operand_types.h"

namespace tilewright::ops {

// output[i...] = f(A[i...]); the block has the given name.
Function Unary(std::vector<Expr> shape, const std::string& name, const std::function<Expr(Expr)>& f,
               DataType dtype = DataType::Float(32));
// output[i...] = f(A[i...], B[i...])
Function BinaryElementwise(std::vector<Expr> shape, const std::string& name, const std::function<Expr(Expr, Expr)>& f,
                           DataType dtype = DataType::Float(32));

Function Add(std::vector<Expr> shape, DataType dtype = DataType::Float(32));
Function Relu(std::vector<Expr> shape, DataType dtype = DataType::Float(32));
// x * (1 + erf(x / sqrt(2))) / 2
Function Gelu(std::vector<Expr> shape, DataType dtype = DataType::Float(32));
// The same, computed in a type of its own.
Function Gelu(std::vector<Expr> shape, const RowTypes& types);
// A[..., j] + bias[j]
Function BiasAdd(std::vector<Expr> shape, DataType dtype = DataType::Float(32));

// The formula of Gelu for one value.
Expr GeluOf(const Expr& x);

}  // namespace tilewright::ops
