#include "codegen/cuda/host/function_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/functor.h"

namespace tilewright::cuda {
namespace {

class FunctionWriter {
 public:
  FunctionWriter(const DeviceFunction& function, SignatureText& signature, size_t first_kernel)
      : function_(function), signature_(signature), first_kernel_(first_kernel) {}

  absl::StatusOr<std::string> Write(int64_t* workspace_bytes) {
    const std::string& base = signature_.base();
    text_ = absl::StrCat("void ", base, "_Start(Execution& run, const ", base, "_Values& values, char* workspace) {\n",
                         signature_.Unpacked(""));
    for (size_t i = 0; i < function_.params.size(); ++i) {
      const Buffer& buffer = function_.params[i].buffer;
      if (buffer) arrays_[buffer->data.get()] = signature_.fields()[i];
    }
    TW_RETURN_IF_ERROR(AddTemporaries(workspace_bytes));
    TW_RETURN_IF_ERROR(AddSteps(function_.host));
    return text_ + "}\n";
  }

 private:
  void Line(const std::string& line) { absl::StrAppend(&text_, std::string(depth_ * 2, ' '), line, "\n"); }
  absl::StatusOr<std::string> Number(const Expr& e) const { return ScalarText(e, signature_.variables()); }

  absl::Status AddTemporaries(int64_t* workspace_bytes) {
    for (const Temporary& temporary : function_.temporaries) {
      const std::string name = signature_.Fresh(temporary.buffer->name);
      arrays_[temporary.buffer->data.get()] = name;
      if (const std::optional<int64_t> bytes = AsInt(temporary.bytes)) {
        Line(absl::StrCat("char* ", name, " = workspace + ", *workspace_bytes, ";"));
        *workspace_bytes += RoundUp(*bytes, kWorkspaceAlignment);
        continue;
      }
      TW_ASSIGN_OR_RETURN(const std::string bytes, Number(temporary.bytes));
      Line(absl::StrCat("char* ", name, " = run.Temporary(", bytes, ");"));
    }
    return absl::OkStatus();
  }

  absl::Status AddBody(const Stmt& s) {
    ++depth_;
    const absl::Status status = AddSteps(s);
    --depth_;
    return status;
  }

  absl::Status AddSteps(const Stmt& s) {
    if (IsNoOp(s)) return absl::OkStatus();
    if (const auto* seq = dyn_cast<SeqNode>(s)) {
      for (const Stmt& stmt : seq->stmts) TW_RETURN_IF_ERROR(AddSteps(stmt));
      return absl::OkStatus();
    }
    if (const auto* op = dyn_cast<EvaluateNode>(s)) {
      return AddLaunch(static_cast<size_t>(AsInt(cast<CallNode>(op->value)->args[0]).value_or(0)));
    }
    if (const auto* loop = dyn_cast<ForNode>(s)) return AddLoop(loop);
    if (const auto* branch = dyn_cast<IfNode>(s)) return AddBranch(branch);
    if (const auto* let = dyn_cast<LetStmtNode>(s)) {
      TW_ASSIGN_OR_RETURN(const std::string value, Number(let->value));
      const std::string name = signature_.Fresh(let->var.name());
      Line(absl::StrCat("Int ", name, " = ", value, ";"));
      signature_.variables()[let->var.get()] = name;
      return AddSteps(let->body);
    }
    const auto* assertion = cast<AssertNode>(s);
    TW_ASSIGN_OR_RETURN(const std::string condition, Number(assertion->condition));
    Line(absl::StrCat("run.Assert(", condition, ", ", Quoted(assertion->message), ");"));
    return absl::OkStatus();
  }

  absl::Status AddLoop(const ForNode* loop) {
    TW_ASSIGN_OR_RETURN(const std::string begin, Number(loop->min));
    TW_ASSIGN_OR_RETURN(const std::string end, Number(AsInt(loop->min) == 0 ? loop->extent : loop->min + loop->extent));
    const std::string name = signature_.Fresh(loop->var.name()), last = signature_.Fresh(name + "_end");
    signature_.variables()[loop->var.get()] = name;
    Line(absl::StrCat("for (Int ", name, " = ", begin, ", ", last, " = ", end, "; ", name, " < ", last, "; ", name,
                      " = ", name, " + 1) {"));
    TW_RETURN_IF_ERROR(AddBody(loop->body));
    Line("}");
    return absl::OkStatus();
  }

  absl::Status AddBranch(const IfNode* branch) {
    TW_ASSIGN_OR_RETURN(const std::string condition, ScalarAtom(branch->condition, signature_.variables()));
    Line(absl::StrCat("if (", condition, ") {"));
    TW_RETURN_IF_ERROR(AddBody(branch->then_case));
    if (branch->else_case) {
      Line("} else {");
      TW_RETURN_IF_ERROR(AddBody(branch->else_case));
    }
    Line("}");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Dims(const std::array<Expr, 3>& extents) const {
    std::vector<std::string> numbers;
    for (const Expr& extent : extents) {
      TW_ASSIGN_OR_RETURN(std::string number, Number(extent));
      numbers.push_back(std::move(number));
    }
    return absl::StrCat("{", absl::StrJoin(numbers, ", "), "}");
  }

  absl::Status AddLaunch(size_t number) {
    const Kernel& kernel = function_.kernels[number];
    TW_ASSIGN_OR_RETURN(const std::string grid, Dims(kernel.grid));
    TW_ASSIGN_OR_RETURN(const std::string block, Dims(kernel.block));
    Line(absl::StrCat("if (run.Begins(kernels[", first_kernel_ + number, "], ", grid, ", ", block, ")) {"));
    ++depth_;
    std::vector<std::string> params;
    for (const KernelParam& param : kernel.params) {
      if (param.map) {
        params.push_back(absl::StrCat("&", signature_.Fresh(arrays_.at(param.buffer->data.get()) + "_map")));
        TW_RETURN_IF_ERROR(AddMap(param, params.back()));
      } else if (param.buffer) {
        params.push_back(absl::StrCat("&", arrays_.at(param.buffer->data.get())));
      } else {
        const auto name = signature_.variables().find(param.var.get());
        if (name == signature_.variables().end()) {
          return absl::UnimplementedError(absl::StrCat("the host does not know variable ", param.var.name()));
        }
        params.push_back(absl::StrCat("&", name->second));
      }
    }
    // C++ has no arrays of no elements.
    if (params.empty()) params.push_back("nullptr");
    Line(absl::StrCat("void* params[] = {", absl::StrJoin(params, ", "), "};"));
    Line("run.Start(params);");
    --depth_;
    Line("}");
    return absl::OkStatus();
  }

  template <class Numbers>
  static std::string List(const Numbers& numbers) {
    return absl::StrCat("{", absl::StrJoin(numbers, ", "), "}");
  }
  absl::StatusOr<std::string> Sizes(const std::vector<Expr>& exprs) const {
    std::vector<std::string> sizes;
    for (const Expr& e : exprs) {
      if (const auto value = AsInt(e); value && *value >= 0) {
        sizes.push_back(absl::StrCat(*value));
        continue;
      }
      TW_ASSIGN_OR_RETURN(const std::string atom, ScalarAtom(e, signature_.variables()));
      sizes.push_back(atom + ".bits()");
    }
    return List(sizes);
  }

  absl::Status AddMap(const KernelParam& param, const std::string& address) {
    const KernelTensorMap& map = *param.map;
    const std::string& array = arrays_.at(param.buffer->data.get());
    TW_ASSIGN_OR_RETURN(const std::string extents, Sizes(map.extents));
    TW_ASSIGN_OR_RETURN(const std::string strides, Sizes(map.strides));
    std::string spec = absl::StrCat("{.type = ", MapTypeOf(map.type), ", .address = ", array, ", .extents = ", extents,
                                    ", .strides = ", strides);
    const bool im2col = !map.lower.empty();
    if (!im2col) absl::StrAppend(&spec, ", .box = ", List(map.box));
    if (!map.steps.empty()) absl::StrAppend(&spec, ", .steps = ", List(map.steps));
    absl::StrAppend(&spec, ", .swizzle = ", SwizzleOf(map.span));
    if (im2col) {
      absl::StrAppend(&spec, ", .im2col = true, .lower = ", List(map.lower), ", .upper = ", List(map.upper),
                      ", .channels = ", map.box[0], ", .pixels = ", map.box[1]);
    }
    Line(absl::StrCat("EncodedTensorMap ", address.substr(1), ";"));
    Line(absl::StrCat("run.Encode(", address, ", ", Quoted(param.buffer->name), ", ", spec, "});"));
    return absl::OkStatus();
  }

  const DeviceFunction& function_;
  SignatureText& signature_;
  const size_t first_kernel_;
  std::unordered_map<const VarNode*, std::string> arrays_;
  std::string text_;
  size_t depth_ = 1;
};

}  // namespace

absl::StatusOr<FunctionText> TextOfFunction(const DeviceFunction& function, const std::string& base,
                                            size_t first_kernel) {
  const std::vector<bool> written = WrittenParams(function);
  TW_ASSIGN_OR_RETURN(SignatureText signature, SignatureText::Make(function.name, base, function.params, written));
  FunctionText text{.signature = std::move(signature)};
  TW_ASSIGN_OR_RETURN(text.start, FunctionWriter(function, text.signature, first_kernel).Write(&text.workspace_bytes));
  return text;
}

}  // namespace tilewright::cuda
