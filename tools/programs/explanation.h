// What the time of a program goes to, by the cost models: as text and as a page.
//
//   Explanation explanation = Explain(function, target);
//   PrintExplanation(explanation, std::cout);
//   file << ExplanationPage({.title = "matmul.py", .functions = {explanation}, .program = Print(module)});
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

struct ExplanationSection {
  struct Row {
    std::string name, value;
    double share = 0;  // of the whole; 0 where it is not a part
  };
  std::string title;
  std::vector<Row> rows;
};

struct Explanation {
  std::vector<ExplanationSection> sections;
};

// What is explained is the function as it stands.
Explanation Explain(const Function& function, const Target& target);

void PrintExplanation(const Explanation& explanation, std::ostream& out);

struct ExplainedProgram {
  std::string title;                 // its file
  std::vector<std::string> remarks;  // what rules refuse, and the like
  std::vector<Explanation> functions;
  std::string schedule;  // that was applied; empty: none
  std::string program;   // after it
};

// Nothing is loaded from elsewhere, and there are no scripts.
std::string ExplanationPage(const ExplainedProgram& program);

}  // namespace tilewright
