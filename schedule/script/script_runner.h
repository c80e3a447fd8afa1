// Runs the statements of schedule text; a part of schedule_script.h, which describes the language.
//
// A function that gives a bool is false after an error. A statement that cannot be run and has nothing to do with the
// schedule is other Python: it is passed over, and the names that it gives values to are unknown from there on. Any
// other error stops everything. Statements, expressions, calls and classes are in a file each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/script/python/ast.h"
#include "schedule/script/python_values.h"
#include "schedule/script/schedule_script.h"
#include "schedule/script/special_values.h"

namespace tilewright {

class ScriptRunner {
 private:
  using PyExpr = script::PyExpr;
  using PyExprPtr = script::PyExprPtr;
  using PyStmt = script::PyStmt;
  using Kind = PyExpr::Kind;

 public:
  ScriptRunner(std::string_view text, std::string_view file, Schedule* schedule, const ScheduleScriptOptions& options)
      : text_(text), file_(file), schedule_(*schedule), options_(options) {}

  std::optional<ScheduleScriptError> Run();

 private:
  // ---- Errors

  bool Fail(uint32_t offset, std::string message);
  // An error that no statement is passed over for.
  bool Stop(uint32_t offset, std::string message);
  bool FailWith(uint32_t offset, PythonResult result);
  // Whether a statement that could not be run may schedule: it calls a method of a schedule, or hands one to a
  // function.
  bool Schedules(const PyStmt& stmt) const;
  bool Schedules(const PyExpr& e) const;
  bool Schedules(const std::vector<PyStmt>& stmts) const;
  // Whether a function of the text does: it makes a schedule, or calls primitives of a parameter.
  static bool FunctionSchedules(const PyStmt& function);
  // Passes over a statement that could not be run.
  void PassOver(const PyStmt& stmt);
  void ForgetTargets(const PyStmt& stmt);

  // ---- Statements

  bool RunAll(const std::vector<PyStmt>& stmts);
  // Runs until an error, or until something leaves the loop or function around.
  bool RunStmt(const PyStmt& stmt);
  bool RunKnown(const PyStmt& stmt);
  bool RunOther(const PyStmt& stmt);
  bool RunImport(const PyStmt& stmt);
  bool RunClass(const PyStmt& stmt);
  // def apply_trace(sch): its body is run here. A function that the text calls is run where it is called.
  bool RunFunction(const PyStmt& stmt);
  bool IsCalledSomewhere(std::string_view function) const;
  bool RunFor(const PyStmt& stmt);
  bool RunWhile(const PyStmt& stmt);
  // Behind an iteration of a loop: whether it is the last.
  bool LeavesLoop();
  // n += 1
  bool RunAugment(const PyStmt& stmt);
  bool RunExpr(const PyExpr& e);
  bool RunAssign(const PyStmt& stmt);
  bool Assign(const PyExpr& target, const Value& value);
  // *outer, inner = values: the starred name, at `rest`, takes what the others leave.
  bool AssignRest(const PyExpr& target, size_t rest, const Value::List& values);
  // tvm.tir.Schedule(Module), s_tir.Schedule(Module, seed=1), Schedule(Module)
  static bool IsNewSchedule(const PyExpr& e);
  // sch.mod.show(), sch.show()
  bool IsShow(const PyExpr& e) const;
  static bool IsPrint(const PyExpr& e);
  // tiles.append(16)
  bool IsAppend(const PyExpr& e) const;
  bool RunAppend(const PyExpr& e);
  // sch, self.sch
  bool IsSchedule(const PyExpr& e) const;

  // ---- Expressions

  bool Eval(const PyExpr& e, Value* out);
  // `*items` are spliced in.
  bool EvalItems(const std::vector<PyExprPtr>& items, Value::List* list);
  bool EvalDict(const PyExpr& e, Value* out);
  bool EvalTruth(const PyExpr& e, bool* out);
  bool EvalArithmetic(const PyExpr& e, Value* out);
  // The operands as in Python: "and" and "or" give one of them.
  bool EvalLogic(const PyExpr& e, Value* out);
  bool EvalComprehension(const PyExpr& e, Value* out);
  // f"tile_{n}"
  bool EvalFormat(const PyExpr& e, Value* out);
  bool EvalSubscript(const PyExpr& e, Value* out);
  // loops[1:], loops[::-1]
  bool EvalSlice(const PyExpr& slice, const Value::List& list, Value* out);
  bool EvalLambda(const PyExpr& e, Value* out);
  bool EvalName(const PyExpr& e, Value* out);
  std::string Because(int64_t offset) const;
  // self.width, Config.TILE, sch.get(loop).extent, math.inf
  bool EvalAttribute(const PyExpr& e, Value* out);
  // What a name that is not a parameter stands for in an index map.
  std::optional<Expr> NameInIndexMap(const std::string& name) const;
  // An index map for so many indices from a lambda or the name of a function; false: it is neither.
  bool EvalIndexMap(const PyExpr& e, size_t indices, Value* out);
  // How many indices the map that is an argument of the primitive gets, and whether that is known.
  std::optional<size_t> MapIndices(const Primitive& primitive, const std::vector<std::optional<Value>>& args) const;
  const Function* WorkedOn() const;

  // ---- Calls

  bool EvalCall(const PyExpr& e, Value* out);
  // A function of the text: it sees the names that are there when it is called, and its own.
  bool CallFunction(const PyExpr& e, const PyStmt& function, const Value* self, Value* out);
  // Evaluates an argument of a function of the text, which may take values of other Python.
  bool EvalArgument(const PyExpr& e, Value* out);
  bool EvalArguments(const std::vector<PyExprPtr>& items, Value::List* list);
  bool BindParameters(const PyExpr& e, const PyStmt& function, const Value* self, std::map<std::string, Value>* names);
  // Config(tile=8), where the text defines the class.
  bool MakeInstance(const PyExpr& e, int64_t of_class, Value* out);
  // The method of an instance or class that `e` calls; null: it calls something else.
  const PyStmt* FindMethod(const PyExpr& callee, Value* self);
  // sch.get(rv): what is known of a loop, block or number.
  bool EvalGet(const PyExpr& e, Value* out);
  Value Describe(const BlockRef& block) const;
  Value Describe(const LoopRef& loop) const;
  static Value Number(const Expr& e);
  // sch.work_on("f"): blocks are looked up in that function from here on.
  bool WorkOn(const PyExpr& e, Value* out);
  // sch.remove_rv(l0): what it names is forgotten.
  bool RemoveRv(const PyExpr& e, Value* out);
  // x = sch.can_decompose_padding(block, loop): a boolean.
  bool CanDecomposePadding(const PyExpr& e, Value* out);
  // Names of blocks are those of the function that is worked on.
  bool LookUpBlocks(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args);
  // The arguments in the order of the primitive's table entry, defaults filled in.
  bool BindArguments(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args, Value* decision);
  bool ApplyCall(const PyExpr& e, const Primitive& primitive, std::vector<Value> args, const Value& decision,
                 Value* out);
  // The line that the call is on, without indentation.
  std::string_view LineAt(uint32_t offset) const;

  enum class Leaving { kNothing, kIteration, kLoop, kFunction };
  static constexpr int kMaxSteps = 100000, kMaxDepth = 50;

  std::string_view text_, file_;
  Schedule& schedule_;
  const ScheduleScriptOptions& options_;
  struct Class {
    std::string name;
    std::map<std::string, Value> fields;
    std::map<std::string, const PyStmt*> methods;
  };
  std::map<std::string, Value> names_;
  std::set<int> forgotten_;  // the numbers of random variables that were removed
  std::vector<const PyStmt*> functions_;
  std::vector<Class> classes_;
  std::vector<std::pair<int64_t, std::map<std::string, Value>>> instances_;  // class and fields of each
  std::map<int64_t, std::string> why_other_;                                 // by the offset of the statement
  const PyStmt* not_called_ = nullptr;   // a function that schedules, and that nothing calls
  bool applied_ = false;                 // a primitive
  std::set<const PyExpr*> done_;         // calls of the statement that is being run, as far as they have run
  bool stopped_ = false;                 // by an error that is final
  Leaving leaving_ = Leaving::kNothing;  // what a return, break or continue leaves
  Value returned_;
  int steps_ = 0, depth_ = 0;
  std::string working_on_;  // a function; empty: "main", or the only one
  std::optional<ScheduleScriptError> error_;
};

}  // namespace tilewright
