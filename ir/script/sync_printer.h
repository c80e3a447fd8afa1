// Synchronization as text. Internal to //ir/script:printer.
#pragma once

#include <string>

#include "ir/script/expr_printer.h"
#include "ir/stmt.h"

namespace tilewright::script {

// TVM's spelling where it has one (T.tvm_storage_sync, T.ptx_commit_group, T.ptx_wait_group), else ours.
std::string SyncText(const SyncNode* op, ExprPrinter& exprs);

}  // namespace tilewright::script
