#include "schedule/script/primitive_docs.h"

#include <map>

#include "ir/script/printer.h"
#include "schedule/core/primitive.h"

namespace tilewright {
namespace {

constexpr const char* kIntroduction = R"(# Schedule primitives

This page is made from the table of primitives (`schedule/core/primitive.h`); `bazel run //schedule/script:print_primitive_docs`
prints it. The header of each primitive in `schedule/` says which conditions are checked, and which loops and blocks
survive. The examples stand in `schedule/script/primitive_examples.txt`; a test runs the programs before and after.

A schedule is text in the syntax of the peers. Names stand for loops, blocks and integers; blocks may also be given by
their names in the program:

    sch = tvm.tir.Schedule(Module)
    i, j, k = sch.get_loops("C")
    i, ii = sch.split(i, factors=[None, 16])
    sch.reorder(i, j, ii, k)
    sch.parallel(i)

    tilewright schedule matmul.py --script=schedule.py --each-step

A primitive whose conditions do not hold is refused: the error gives line and column, names the loops, blocks and
expressions at fault, and shows the program with them marked. Sampling primitives take a `decision`; a trace holds the
decisions that were drawn, and an illegal one is refused.

)";

std::string DefaultText(const Value& value) {
  if (value.is_none()) return "None";
  if (const auto* boolean = value.As<bool>()) return *boolean ? "True" : "False";
  if (const auto* integer = value.As<int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.As<double>()) return std::to_string(*real);
  if (const auto* text = value.As<std::string>()) return "\"" + *text + "\"";
  return "[]";
}

const char* ResultText(ResultKind kind) {
  switch (kind) {
    case ResultKind::kNone:
      return "";
    case ResultKind::kLoop:
      return "loop";
    case ResultKind::kLoops:
      return "loops";
    case ResultKind::kBlock:
      return "block";
    case ResultKind::kBlocks:
      return "blocks";
    case ResultKind::kInt:
      return "integer";
    case ResultKind::kInts:
      return "integers";
  }
  return "";
}

std::string Section(const Primitive& primitive) {
  std::string call;
  std::string arguments;
  for (const ArgSpec& arg : primitive.args) {
    call += std::string(call.empty() ? "" : ", ") + (arg.variadic ? "*" : "") + arg.name;
    if (arg.default_value) call += "=" + DefaultText(*arg.default_value);
    arguments += std::string("* `") + arg.name + "`: " + ArgKindName(arg.kind) + "\n";
  }
  if (primitive.role == Primitive::Role::kSampling) {
    call += std::string(call.empty() ? "" : ", ") + "decision=None";
    arguments += "* `decision`: what to take in place of a draw\n";
  }
  std::string section = std::string("### ") + primitive.name + "\n\n" + primitive.summary + "\n\n    ";
  if (primitive.result != ResultKind::kNone) section += std::string(ResultText(primitive.result)) + " = ";
  section += std::string("sch.") + primitive.name + "(" + call + ")\n\n";
  return arguments.empty() ? section : section + arguments + "\n";
}

// The functions from their decorators on, without what the printer writes before them.
std::string Functions(const Module& module) {
  std::string text;
  for (const Function& function : module.functions()) {
    const std::string printed = Print(function);
    text += (text.empty() ? "" : "\n") + printed.substr(printed.find("@T.prim_func"));
  }
  return text;
}

std::string Code(const std::string& text) { return "```python\n" + text + "```\n\n"; }

// `program_of`: the primitive under which the example's program is shown.
std::string Example(const PrimitiveExample& example, const std::string& program_of) {
  std::string text =
      example.same_program
          ? "The program of [" + program_of + "](#" + program_of + ")"
          : Code(example.program + (example.intrinsics.empty() ? "" : "\n" + example.intrinsics)) + "This";
  return text + " becomes with\n\n" + Code(example.calls) + Code(Functions(example.after));
}

const char* RoleTitle(Primitive::Role role) {
  switch (role) {
    case Primitive::Role::kQuery:
      return "## Queries\n\n";
    case Primitive::Role::kSampling:
      return "## Sampling\n\n";
    case Primitive::Role::kTransform:
      return "## Transformations\n\n";
  }
  return "";
}

}  // namespace

std::string PrimitiveDocs(std::span<const PrimitiveExample> examples) {
  std::map<std::string, std::string> shown;  // by primitive
  std::string program_of;
  for (const PrimitiveExample& example : examples) {
    if (!example.same_program) program_of = example.primitive;
    shown[example.primitive] = Example(example, program_of);
  }
  std::string docs = kIntroduction;
  for (Primitive::Role role : {Primitive::Role::kQuery, Primitive::Role::kSampling, Primitive::Role::kTransform}) {
    docs += RoleTitle(role);
    for (const Primitive& primitive : AllPrimitives()) {
      if (primitive.role == role) docs += Section(primitive) + shown[primitive.name];
    }
  }
  docs.pop_back();
  return docs;
}

}  // namespace tilewright
