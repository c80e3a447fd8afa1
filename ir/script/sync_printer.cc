#include "ir/script/sync_printer.h"

#include "absl/strings/str_cat.h"

namespace tilewright::script {

std::string SyncText(const SyncNode* op, ExprPrinter& exprs) {
  static constexpr const char* kOwners[] = {"core", "thread", "warp", "warpgroup", "block", "cluster", "device"};
  static constexpr const char* kKinds[] = {"barrier", "async_commit", "async_wait", "arrive", "wait"};
  const std::string& memory = op->memory.text();
  const bool shared = memory == "shared";
  if (op->sync == SyncKind::kBarrier && !op->operand && !op->object) {
    const OwnerLevel usual = memory == "global" ? OwnerLevel::kDevice : OwnerLevel::kBlock;
    if (op->participants == usual && memory != "warp") return absl::StrCat("T.tvm_storage_sync(", Quote(memory), ")");
    if (shared && op->participants == OwnerLevel::kWarp) return "T.tvm_storage_sync(\"warp\")";
  }
  if (shared && op->participants == OwnerLevel::kThread && !op->object) {
    if (op->sync == SyncKind::kAsyncCommit && !op->operand) return "T.ptx_commit_group()";
    if (op->sync == SyncKind::kAsyncWait && op->operand) {
      return absl::StrCat("T.ptx_wait_group(", exprs.Text(op->operand), ")");
    }
  }
  std::string text = absl::StrCat("T.", kKinds[static_cast<int>(op->sync)], "(", Quote(memory), ", \"",
                                  kOwners[static_cast<int>(op->participants)], "\"");
  if (op->operand) absl::StrAppend(&text, ", operand=", exprs.Text(op->operand));
  if (op->object) absl::StrAppend(&text, ", object=", exprs.Text(op->object));
  return text + ")";
}

}  // namespace tilewright::script
