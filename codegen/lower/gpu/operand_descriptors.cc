#include "codegen/lower/gpu/operand_descriptors.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/gpu/shared_places.h"
#include "codegen/lower/gpu/wgmma_call.h"
#include "intrin/cuda/call_roles.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

constexpr int64_t kRowsOfSums = 64, kBytesOfK = 32, kBytesOfRow = 16;

const char* NameOf(int64_t span) {
  return span == 128  ? "tw::kSwizzle128"
         : span == 64 ? "tw::kSwizzle64"
         : span == 32 ? "tw::kSwizzle32"
                      : "tw::kSwizzleNone";
}

class Describer : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  absl::Status status;

 protected:
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const std::optional<WgmmaCall> wgmma = AsWgmma(self);
    const cuda::CallRole role = cuda::RoleOfCall(op->op);
    if (role == cuda::CallRole::kMatrixLoad || role == cuda::CallRole::kSharedStore) {
      for (const Expr& arg : op->args) CheckRow(arg);
    }
    if (!wgmma) return ScopedMutator::MutateCall(op, self);
    std::vector<Expr> args = op->args;
    Expr& a = args[wgmma->a()];
    a = wgmma->a_in_registers ? Mutate(a) : Describe(a, kRowsOfSums, wgmma->a_along_k);
    args[wgmma->b()] = Describe(args[wgmma->b()], wgmma->columns, wgmma->b_along_k);
    return Call(op->dtype(), op->op, std::move(args));
  }

 private:
  // `address`: of a row of 16 bytes, where it is that of an element.
  void CheckRow(const Expr& address) {
    const auto* call = dyn_cast<CallNode>(address);
    const auto* load = call == nullptr || call->op != kAddressOf ? nullptr : dyn_cast<LoadNode>(call->args[0]);
    if (load == nullptr) return;
    const Expr& last = load->indices.back();
    const int64_t elements = kBytesOfRow / load->buffer->dtype.bytes();
    const bool begins = analyzer_.CanProveDivisible(last, Const(last.dtype(), elements));
    if (begins && KeepsRows(load->buffer, elements)) return;
    Refuse(absl::StrCat("rows of ", kBytesOfRow,
                        " bytes that ldmatrix and stmatrix access do not lie together in buffer ", load->buffer->name));
  }
  // Whether so many neighbours in a row, from multiples of that on, lie side by side from a multiple of 16 bytes on.
  bool KeepsRows(const Buffer& buffer, int64_t elements) {
    const auto known = keeps_rows_.find(buffer->data.get());
    if (known != keeps_rows_.end()) return known->second;
    const absl::StatusOr<SharedPlaces> places = SharedPlaces::Of(buffer);
    bool keeps = places.ok() && places->columns() % elements == 0;
    for (int64_t part = 0; keeps && part < places->parts(); ++part) {
      for (int64_t row = 0; keeps && row < places->rows(); ++row) {
        for (int64_t column = 0; keeps && column < places->columns(); ++column) {
          const int64_t inside = column % elements, first = places->At(part, row, column - inside);
          keeps = first % kBytesOfRow == 0 && places->At(part, row, column) == first + inside * places->element_bytes();
        }
      }
    }
    return keeps_rows_[buffer->data.get()] = keeps;
  }
  // `address`: of the tile's first element, `mn` rows or columns of the product by 32 bytes of K.
  Expr Describe(const Expr& address, int64_t mn, bool along_k) {
    const auto* call = dyn_cast<CallNode>(address);
    const auto* load = call == nullptr || call->op != kAddressOf ? nullptr : dyn_cast<LoadNode>(call->args[0]);
    if (load == nullptr || load->indices.size() < 2) {
      Refuse("an operand of wgmma is not an element of a buffer with rows and columns");
      return address;
    }
    const int64_t k = kBytesOfK / load->buffer->dtype.bytes();
    const int64_t rows = along_k ? mn : k, columns = along_k ? k : mn;
    const size_t rank = load->indices.size();
    const auto is_multiple = [&](const Expr& index, int64_t of) {
      return analyzer_.CanProveDivisible(index, Const(index.dtype(), of));
    };
    if (!is_multiple(load->indices[rank - 2], rows) || !is_multiple(load->indices[rank - 1], columns)) {
      Refuse(absl::StrCat("a tile of ", rows, " x ", columns,
                          " for wgmma does not begin at a multiple of these in buffer ", load->buffer->name));
      return address;
    }
    const absl::StatusOr<OperandForm> form = FindOperandForm(load->buffer, rows, columns, along_k);
    if (!form.ok()) {
      Refuse(std::string(form.status().message()));
      return address;
    }
    return Call(DataType::UInt(64), "cuda.wgmma_descriptor",
                {String(NameOf(form->span)), address, Expr(static_cast<int>(form->leading_bytes)),
                 Expr(static_cast<int>(form->stride_bytes))});
  }
  void Refuse(std::string reason) {
    if (status.ok()) status = absl::InvalidArgumentError(std::move(reason));
  }

  std::unordered_map<const VarNode*, bool> keeps_rows_;  // by data pointers
};

}  // namespace

absl::StatusOr<Function> DescribeOperands(const Function& function) {
  Describer describer;
  Stmt body = describer.Mutate(function->body);
  if (!describer.status.ok()) return describer.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
