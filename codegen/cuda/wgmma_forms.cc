#include "codegen/cuda/wgmma_forms.h"

#include <set>
#include <string_view>
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

constexpr std::string_view kCall = "tw::wgmma<";

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

std::string TextOf(const Form& form) {
  int columns = 0;
  if (form.size() != 6 || !absl::SimpleAtoi(form[0], &columns)) return "";
  const MachineInstruction* row = RowOf(form, columns);
  if (row == nullptr) return "";
  const int registers = columns * row->c.type.bits() / 64;
  std::vector<std::string> sums, outputs;
  const char* constraint = row->c.type == DataType::Float(32) ? "+f" : "+r";
  for (int i = 0; i < registers; ++i) {
    sums.push_back(absl::StrCat("%", i));
    outputs.push_back(absl::StrCat("\"", constraint, "\"(d.r[", i, "])"));
  }
  // Signs of A and B, and along what they are contiguous.
  std::string immediates = row->a.type.is_float() ? ", 1, 1" : "";
  if (row->a.type.bits() == 16) {
    absl::StrAppend(&immediates, form[4] == "tw::kMajorMN" ? ", 1" : ", 0", form[5] == "tw::kMajorMN" ? ", 1" : ", 0");
  }
  const std::string instruction = absl::StrReplaceAll(std::string(row->ptx), {{"nN", absl::StrCat("n", columns)}});
  return absl::StrCat("template <>\nstruct WgmmaForm<", absl::StrJoin(form, ", "),
                      "> {\n  TW_DEVICE static void Run(Sums<", columns, ", ", form[1],
                      ">& d, uint64_t a, uint64_t b, int scale_d) {\n",
                      "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %", registers + 2, ", 0;\\n\"\n        \"",
                      instruction, " {", absl::StrJoin(sums, ", "), "}, %", registers, ", %", registers + 1, ", p",
                      immediates, ";\\n}\\n\"\n        : ", absl::StrJoin(outputs, ", "),
                      "\n        : \"l\"(a), \"l\"(b), \"r\"(scale_d));\n  }\n};\n");
}

}  // namespace

std::string WgmmaForms(const std::string& text) {
  std::set<std::string> used;
  for (size_t at = text.find(kCall); at != std::string::npos; at = text.find(kCall, at + 1)) {
    const size_t first = at + kCall.size();
    used.insert(text.substr(first, text.find('>', first) - first));
  }
  std::string forms;
  for (const std::string& form : used) absl::StrAppend(&forms, TextOf(absl::StrSplit(form, ", ")));
  return forms;
}

}  // namespace tilewright::cuda
