#include "codegen/cuda/host/sequence_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "codegen/cuda/host/scalar_text.h"
#include "codegen/cuda/host/signature_text.h"

namespace tilewright::cuda {
namespace {

using Memory = SizedSequence::Memory;

class SequenceWriter {
 public:
  SequenceWriter(const SizedSequence& sequence, SignatureText& signature,
                 std::map<std::string, FunctionText>& functions)
      : sequence_(sequence), signature_(signature), functions_(functions) {}

  absl::StatusOr<SequenceText> Write() {
    const std::string& base = signature_.base();
    const bool sized = !sequence_.extents.empty();
    SequenceText result{.definitions = signature_.text()};
    if (sized) {
      TW_ASSIGN_OR_RETURN(const std::string sizes, SizesText());
      absl::StrAppend(&result.definitions, "\n", sizes);
    }
    TW_ASSIGN_OR_RETURN(const std::string own_bytes, Rounded(sequence_.workspace_bytes));
    text_ = absl::StrCat("void ", base, "_Start(Execution& run, const ", base, "_Values& values, ",
                         sized ? absl::StrCat("const ", base, "_Sizes& sizes, ") : "", "char* workspace) {\n",
                         signature_.Unpacked(""), sized ? UnpackedSizes("") : "",
                         "  char* const constants = run.constants();\n  char* const temporaries = workspace + ",
                         own_bytes, ";\n");
    int64_t behind = 0;
    for (const SizedSequence::Call& call : sequence_.calls) {
      const auto function = functions_.find(call.function);
      if (function == functions_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(sequence_.name, " calls ", call.function, ", which the module lacks"));
      }
      if (!call.workspace_offset) behind = std::max(behind, function->second.workspace_bytes);
      TW_RETURN_IF_ERROR(AddCall(call, function->second.signature));
    }
    for (const SizedSequence::Copy& copy : sequence_.copies) {
      TW_ASSIGN_OR_RETURN(const std::string from, Address(copy.from));
      TW_ASSIGN_OR_RETURN(const std::string bytes, Number(copy.bytes));
      absl::StrAppend(&text_, "  run.Copy(", signature_.fields()[static_cast<size_t>(copy.to)], ", ", from, ", ", bytes,
                      ");\n");
    }
    absl::StrAppend(&result.definitions, "\n", text_, "}\n");
    TW_ASSIGN_OR_RETURN(result.exported, Exported(behind));
    return result;
  }

 private:
  absl::StatusOr<std::string> Number(const Expr& e) const { return ScalarText(e, signature_.variables()); }

  // Bytes of a workspace, behind which temporaries may stand.
  absl::StatusOr<std::string> Rounded(const Expr& bytes) const {
    if (const auto value = AsInt(bytes)) return absl::StrCat(RoundUp(*value, kWorkspaceAlignment));
    TW_ASSIGN_OR_RETURN(const std::string atom, ScalarAtom(bytes, signature_.variables()));
    return absl::StrCat("RoundUpTo(", kWorkspaceAlignment, ", ", atom, ".value)");
  }

  std::string UnpackedSizes(const char* reference) const {
    if (size_names_.empty()) return "";
    return absl::StrCat("  auto", reference, " [", absl::StrJoin(size_names_, ", "), "] = sizes;\n");
  }

  // "Int batch, Int sequence", or the same without their types.
  std::string Extents(const char* type) const {
    const auto print = [&](std::string* out, const Var& extent) {
      absl::StrAppend(out, type, signature_.variables().at(extent.get()));
    };
    return absl::StrJoin(sequence_.extents, ", ", print);
  }

  absl::StatusOr<std::string> Refused(const std::string& unless, const std::string& sentence,
                                      const std::vector<std::pair<std::string, Expr>>& named) const {
    std::string text = Quoted(sentence);
    const char* separator = "";
    for (const auto& [name, number] : named) {
      TW_ASSIGN_OR_RETURN(const std::string atom, ScalarAtom(number, signature_.variables()));
      absl::StrAppend(&text, " + ", Quoted(absl::StrCat(separator, name, " = ")), " + Text(", atom, ".value)");
      separator = ", ";
    }
    return absl::StrCat("  if (!(", unless, ")) refusal.Refuse(kTwErrorShape, std::string() + ", text, ");\n");
  }

  // Sizes of extents, and a function that computes them or refuses the extents.
  absl::StatusOr<std::string> SizesText() {
    const std::string& base = signature_.base();
    std::string body, fields;
    std::vector<std::pair<std::string, Expr>> extents;
    for (const Var& extent : sequence_.extents) {
      extents.emplace_back(extent.name(), extent);
      const std::string unless = absl::StrCat(signature_.variables().at(extent.get()), " >= 0");
      TW_ASSIGN_OR_RETURN(const std::string refused, Refused(unless, "an extent is negative: ", {extents.back()}));
      body += refused;
    }
    std::vector<std::string> good;
    for (const SizedSequence::Size& size : sequence_.sizes) {
      TW_ASSIGN_OR_RETURN(const std::string value, Number(size.value));
      size_names_.push_back(signature_.Fresh(size.var.name()));
      signature_.variables()[size.var.get()] = size_names_.back();
      absl::StrAppend(&body, "  ", size_names_.back(), " = ", value, ";\n");
      absl::StrAppend(&fields, "  Int ", size_names_.back(), ";\n");
      good.push_back(absl::StrCat("!", size_names_.back(), ".bad"));
    }
    for (const SizedSequence::Check& check : sequence_.checks) {
      TW_ASSIGN_OR_RETURN(const std::string holds, ScalarAtom(check.holds, signature_.variables()));
      TW_ASSIGN_OR_RETURN(const std::string refused,
                          Refused(absl::StrCat("Holds(", holds, ")"), check.sentence, check.named));
      body += refused;
    }
    good.push_back("true");
    TW_ASSIGN_OR_RETURN(
        const std::string refused,
        Refused(absl::StrJoin(good, " && "), "the extents are too large, or one that divides is 0: ", extents));
    return absl::StrCat("struct ", base, "_Sizes {\n", fields, "};\nvoid ", base, "_Measure(Refusal& refusal, ",
                        Extents("Int "), ", ", base, "_Sizes& sizes) {\n", UnpackedSizes("&"), body, refused, "}\n");
  }

  // The exported functions. In their scope sizes and extents are members.
  absl::StatusOr<std::string> Exported(int64_t behind) const {
    const std::optional<int64_t> own_bytes = AsInt(sequence_.workspace_bytes);
    if (sequence_.extents.empty() && own_bytes) {
      return signature_.Exported(RoundUp(*own_bytes, kWorkspaceAlignment) + behind);
    }
    VarNames members = signature_.variables();
    for (const SizedSequence::Size& size : sequence_.sizes) members[size.var.get()].insert(0, "sizes.");
    for (const Var& extent : sequence_.extents) members[extent.get()].insert(0, "values.");
    TW_ASSIGN_OR_RETURN(const std::string atom, ScalarAtom(sequence_.workspace_bytes, members));
    const std::string bytes = absl::StrCat("RoundUpTo(", kWorkspaceAlignment, ", ", atom, ".value) + ", behind);
    const std::string& base = signature_.base();
    std::vector<std::string> extents;
    for (const Var& extent : sequence_.extents) extents.push_back(members.at(extent.get()));
    const std::string measure = absl::StrCat("  ", base, "_Sizes sizes = {};\n  if (in.ok()) ", base,
                                             "_Measure(run.refusal(), ", absl::StrJoin(extents, ", "), ", sizes);\n");
    return absl::StrCat(signature_.ExportedFunction(measure, bytes, "sizes, "), "TW_EXPORT int64_t ", sequence_.name,
                        "_workspace_bytes(", Extents("int64_t "), ") {\n  Refusal refusal(nullptr);\n  ", base,
                        "_Values values = {};\n", Assigned(), "  ", base, "_Sizes sizes = {};\n  ", base,
                        "_Measure(refusal, ", Extents(""), ", sizes);\n  return refusal.ok() ? ", bytes,
                        " : -int64_t{refusal.code()};\n}\n");
  }
  // The values of extents that are arguments.
  std::string Assigned() const {
    std::string text;
    for (const Var& extent : sequence_.extents) {
      const std::string& name = signature_.variables().at(extent.get());
      absl::StrAppend(&text, "  values.", name, " = ", name, ";\n");
    }
    return text;
  }

  absl::StatusOr<std::string> Offset(const char* base, const Expr& bytes) const {
    if (const auto value = AsInt(bytes)) return absl::StrCat(base, " + ", *value);
    TW_ASSIGN_OR_RETURN(const std::string atom, ScalarAtom(bytes, signature_.variables()));
    return absl::StrCat(base, " + ", atom, ".value");
  }

  absl::StatusOr<std::string> Address(const SizedSequence::Argument& argument) const {
    switch (argument.memory) {
      case Memory::kParam:
        return signature_.fields()[static_cast<size_t>(AsInt(argument.at).value_or(0))];
      case Memory::kConstants:
        return Offset("constants", argument.at);
      case Memory::kWorkspace:
        return Offset("workspace", argument.at);
      case Memory::kScalar:
        break;
    }
    return Number(argument.at);
  }

  // The value of a callee's variable, of what the call says of its arguments: tensors are compact.
  absl::StatusOr<std::string> ValueOf(const SignatureText::Bound& bound, const SizedSequence::Call& call) const {
    const SizedSequence::Argument& argument = call.arguments[bound.param];
    switch (bound.from) {
      case SignatureText::Bound::kExtent:
        return Number(argument.shape[bound.dimension]);
      case SignatureText::Bound::kScalar:
        return Number(argument.at);
      case SignatureText::Bound::kZero:
        return std::string("0");
      case SignatureText::Bound::kStride:
        break;
    }
    Expr stride = Const(DataType::Int(64), 1);
    for (size_t d = bound.dimension + 1; d < argument.shape.size(); ++d) stride = stride * argument.shape[d];
    return Number(stride);
  }

  absl::Status AddCall(const SizedSequence::Call& call, const SignatureText& callee) {
    std::vector<std::string> values;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      if (call.arguments[i].memory == Memory::kScalar) continue;
      TW_ASSIGN_OR_RETURN(const std::string address, Address(call.arguments[i]));
      values.push_back(absl::StrCat(".", callee.fields()[i], " = ", address));
    }
    for (const SignatureText::Bound& bound : callee.bound()) {
      TW_ASSIGN_OR_RETURN(const std::string value, ValueOf(bound, call));
      values.push_back(absl::StrCat(".", bound.name, " = ", value));
    }
    std::string workspace = "temporaries";
    if (call.workspace_offset) {
      TW_ASSIGN_OR_RETURN(workspace, Offset("workspace", call.workspace_offset));
    }
    absl::StrAppend(&text_, "  ", callee.base(), "_Start(run, {", absl::StrJoin(values, ", "), "}, ", workspace,
                    ");\n");
    return absl::OkStatus();
  }

  const SizedSequence& sequence_;
  SignatureText& signature_;
  std::map<std::string, FunctionText>& functions_;
  std::vector<std::string> size_names_;
  std::string text_;
};

}  // namespace

absl::StatusOr<SequenceText> TextOfSequence(const SizedSequence& sequence, const std::string& base,
                                            std::map<std::string, FunctionText>& functions) {
  std::vector<bool> written(sequence.params.size());
  for (size_t i = sequence.num_inputs; i < written.size(); ++i) written[i] = true;
  TW_ASSIGN_OR_RETURN(SignatureText signature, SignatureText::Make(sequence.name, base, sequence.params, written));
  return SequenceWriter(sequence, signature, functions).Write();
}

}  // namespace tilewright::cuda
