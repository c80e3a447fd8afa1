// What a function of the C interface takes, as text over codegen/cuda/host/arguments.h. Private to codegen/cuda/host.
//
//   struct main_Values {
//     char *A, *C;
//     Int m;
//   };
//   const Parameter main_parameters[] = {...};
//   void main_Read(const Arguments& in, main_Values& values) { ... }      // extents and scalars
//   void main_Check(Arguments& in, main_Values& values) { ... }           // arrays
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/host/scalar_text.h"
#include "codegen/cuda/names.h"
#include "ir/function.h"

namespace tilewright::cuda {

class SignatureText {
 public:
  // `base`: the function's name in the text, of which those of its parts are made. `written`: by parameter.
  static absl::StatusOr<SignatureText> Make(const std::string& function, const std::string& base,
                                            const std::vector<Param>& params, const std::vector<bool>& written);

  const std::string& function() const { return function_; }
  const std::string& base() const { return base_; }
  size_t num_params() const { return params_.size(); }
  // The definitions above.
  const std::string& text() const { return text_; }
  // `auto [A, C, m] = values;`, or nothing where there are no values.
  std::string Unpacked(const std::string& reference) const;
  // A name by which the text of this function calls something else.
  std::string Fresh(std::string_view name) { return names_.Make(name); }

  // By parameter; of scalars, the name of their value.
  const std::vector<std::string>& fields() const { return fields_; }
  // Variables that stand alone as an extent or a stride, and scalar parameters.
  const VarNames& variables() const { return variables_; }
  VarNames& variables() { return variables_; }

  // A variable and where a call finds its value: an extent or a stride of a parameter, a scalar parameter, or nowhere.
  struct Bound {
    const VarNode* var = nullptr;
    std::string name;
    enum From { kExtent, kStride, kScalar, kZero } from = kExtent;
    size_t param = 0, dimension = 0;
  };
  const std::vector<Bound>& bound() const { return bound_; }

  // The exported functions around `main_Start(run, values, workspace)`: NAME, and NAME_workspace_bytes.
  std::string Exported(int64_t workspace_bytes) const;
  // NAME with statements after main_Read, an expression for the bytes of the workspace, and further arguments of
  // main_Start before it.
  std::string ExportedFunction(const std::string& statements, const std::string& workspace_bytes,
                               const std::string& arguments) const;
  // "main(A: float16[m, 256], C: float32[m])".
  std::string Comment() const;

 private:
  absl::Status CheckTypes() const;
  void Bind(const Expr& e, Bound::From from, size_t param, size_t dimension);
  void FindVariables();
  std::string StructText() const;
  std::string ParametersText(const std::vector<bool>& written) const;
  std::string ReadText() const;
  absl::StatusOr<std::string> CheckText() const;

  std::string function_, base_, text_;
  std::vector<Param> params_;
  Names names_;
  std::vector<std::string> fields_;
  VarNames variables_;
  std::vector<Bound> bound_;
};

}  // namespace tilewright::cuda
