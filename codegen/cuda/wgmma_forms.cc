#include "codegen/cuda/wgmma_forms.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/type_text.h"
#include "intrin/instructions.h"

namespace tilewright::cuda {
namespace {

constexpr std::string_view kCall = "tw::wgmma<", kCallOfRegisters = "tw::wgmma_rs<";

// "128, float, tw::f16, tw::f16, tw::kMajorK, tw::kMajorMN", in parts.
using Form = std::vector<std::string>;

bool IsNamed(const InstructionOperand& operand, const std::string& name) {
  if (!operand.format.empty()) return name == absl::StrCat("tw::", std::string(operand.format));
  const auto stored = StoredType(operand.type);
  return stored.ok() && *stored == name;
}

const MachineInstruction* RowOf(const Form& form, int columns) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family == "wgmma" && row.HasColumns(columns) && IsNamed(row.c, form[1]) && IsNamed(row.a, form[2]) &&
        IsNamed(row.b, form[3])) {
      return &row;
    }
  }
  return nullptr;
}

// A function of a form. `name`: with what A is; `operands`: those of the instruction and of the assembly between the
// sums and the predicate.
struct Operands {
  std::string name, a, inputs;
  int count;
};
const Operands& FromMemory() {
  static const auto* operands = new Operands{"Run", "uint64_t a", "\"l\"(a)", 1};
  return *operands;
}
const Operands& FromRegisters() {
  static const auto* operands =
      new Operands{"RunRs", "const uint32_t* a", "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])", 4};
  return *operands;
}

std::string FunctionText(const Form& form, const MachineInstruction& row, int columns, const Operands& a) {
  const int registers = columns * row.c.type.bits() / 64;
  std::vector<std::string> sums, outputs, operands;
  const char* constraint = row.c.type == DataType::Float(32) ? "+f" : "+r";
  for (int i = 0; i < registers; ++i) {
    sums.push_back(absl::StrCat("%", i));
    outputs.push_back(absl::StrCat("\"", constraint, "\"(d.r[", i, "])"));
  }
  for (int i = 0; i < a.count; ++i) operands.push_back(absl::StrCat("%", registers + i));
  std::string operand = absl::StrJoin(operands, ", ");
  if (a.count > 1) operand = absl::StrCat("{", operand, "}");
  // Signs of A and B, and along what those in memory are contiguous.
  std::string immediates = row.a.type.is_float() ? ", 1, 1" : "";
  if (row.a.type.bits() == 16) {
    if (a.count == 1) absl::StrAppend(&immediates, form[4] == "tw::kMajorMN" ? ", 1" : ", 0");
    absl::StrAppend(&immediates, form[5] == "tw::kMajorMN" ? ", 1" : ", 0");
  }
  const std::string instruction = absl::StrReplaceAll(std::string(row.ptx), {{"nN", absl::StrCat("n", columns)}});
  const int b = registers + a.count;
  return absl::StrCat("  TW_DEVICE static void ", a.name, "(Sums<", columns, ", ", form[1], ">& d, ", a.a,
                      ", uint64_t b, int scale_d) {\n", "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %",
                      b + 1, ", 0;\\n\"\n        \"", instruction, " {", absl::StrJoin(sums, ", "), "}, ", operand,
                      ", %", b, ", p", immediates, ";\\n}\\n\"\n        : ", absl::StrJoin(outputs, ", "),
                      "\n        : ", a.inputs, ", \"l\"(b), \"r\"(scale_d));\n  }\n");
}

std::string TextOf(const Form& form, bool from_memory, bool from_registers) {
  int columns = 0;
  if (form.size() != 6 || !absl::SimpleAtoi(form[0], &columns)) return "";
  const MachineInstruction* row = RowOf(form, columns);
  if (row == nullptr) return "";
  return absl::StrCat("template <>\nstruct WgmmaForm<", absl::StrJoin(form, ", "), "> {\n",
                      from_memory ? FunctionText(form, *row, columns, FromMemory()) : "",
                      from_registers ? FunctionText(form, *row, columns, FromRegisters()) : "", "};\n");
}

// The template arguments of the calls in `text`.
std::set<Form> FormsOf(const std::string& text, std::string_view call) {
  std::set<Form> forms;
  for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
    const size_t first = at + call.size();
    forms.insert(absl::StrSplit(text.substr(first, text.find('>', first) - first), ", "));
  }
  return forms;
}

}  // namespace

std::string WgmmaForms(const std::string& text) {
  const std::set<Form> from_memory = FormsOf(text, kCall);
  std::set<Form> from_registers;
  for (Form form : FormsOf(text, kCallOfRegisters)) {
    // A in registers has its rows along K, which the call does not name.
    if (form.size() == 5) form.insert(form.begin() + 4, "tw::kMajorK");
    from_registers.insert(std::move(form));
  }
  std::set<Form> all = from_memory;
  all.insert(from_registers.begin(), from_registers.end());
  std::string forms;
  for (const Form& form : all) {
    absl::StrAppend(&forms, TextOf(form, from_memory.contains(form), from_registers.contains(form)));
  }
  return forms;
}

}  // namespace tilewright::cuda
