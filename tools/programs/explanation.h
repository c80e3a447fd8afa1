// What the time of a program or a model goes to, by the cost models: as text, as a page and as JSON.
//
//   Explanation explanation = Explain(function, target);
//   PrintExplanation(explanation, std::cout);
//   file << ExplanationPage({.title = "matmul.py", .parts = {explanation}, .texts = {{"Program", Print(module)}}});
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
// "1.35 ms"; three digits.
std::string Quantity(double value, const char* unit);

struct ExplainedFile {
  std::string title;                 // its name
  std::vector<std::string> remarks;  // what rules refuse, and the like
  std::vector<Explanation> parts;    // of functions, or of a model's plan
  struct Text {
    std::string heading, text;
  };
  std::vector<Text> texts;  // at the end: the schedule, the program; those that are empty are left out
};

// Nothing is loaded from elsewhere, and there are no scripts.
std::string ExplanationPage(const ExplainedFile& file);

// The same numbers for programs that read them, functions as they stand.
std::string ExplanationJson(const Module& module, const Target& target);

}  // namespace tilewright
