// Which operators the importer takes: what a benchmark or a test of all of them runs over.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace tilewright::graph {

// Domain and name of each operator of the table (operators.h).
std::set<std::pair<std::string, std::string>> OperatorNames();

}  // namespace tilewright::graph
