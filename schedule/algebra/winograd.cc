#include "schedule/algebra/winograd.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/structural.h"
#include "schedule/algebra/toom_cook.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "winograd";

// The sum that a block computes from zero, of products of two elements.
struct ProductSum {
  const StoreNode* store;
  const LoadNode *first, *second;
};

std::optional<ProductSum> AsProductSum(const BlockNode& block) {
  const std::optional<SumForm> form = AsSum(block);
  const auto* init = block.init ? dyn_cast<StoreNode>(block.init) : nullptr;
  if (!form || init == nullptr || !IsZero(init->value) || !block.match_buffers.empty()) return std::nullopt;
  const StoreNode& store = *form->store;
  if (!StructuralEqual(init->buffer.Load(init->indices), store.buffer.Load(store.indices))) return std::nullopt;
  const std::vector<Expr> factors = FactorsOf(form->term);
  if (factors.size() != 2) return std::nullopt;
  const ProductSum sum = {form->store, dyn_cast<LoadNode>(factors[0]), dyn_cast<LoadNode>(factors[1])};
  const DataType dtype = store.buffer->dtype;
  const auto fits = [&](const LoadNode* load) {
    return load != nullptr && load->buffer->dtype == dtype && !load->buffer.same_as(store.buffer);
  };
  const bool supported = dtype == DataType::Float(32) || dtype == DataType::Float(64);
  return supported && fits(sum.first) && fits(sum.second) ? std::optional(sum) : std::nullopt;
}

// The position of the only index that uses one of the variables; nothing when there is none or several.
std::optional<size_t> OnlyUse(const std::vector<Expr>& indices, const std::vector<Var>& vars) {
  std::optional<size_t> use;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (std::ranges::none_of(vars, [&](const Var& var) { return UsesVar(indices[d], var); })) continue;
    if (use) return std::nullopt;
    use = d;
  }
  return use;
}

// `list` with one entry replaced by others.
template <class T>
std::vector<T> With(const std::vector<T>& list, size_t at, const std::vector<T>& replacement) {
  std::vector<T> result(list.begin(), list.begin() + static_cast<int64_t>(at));
  result.insert(result.end(), replacement.begin(), replacement.end());
  result.insert(result.end(), list.begin() + static_cast<int64_t>(at) + 1, list.end());
  return result;
}

IterVar Iterator(std::string name, const Expr& extent) {
  const Var var(std::move(name), extent.dtype());
  return {var, {Const(extent.dtype(), 0), extent}, IterKind::kSpatial};
}

// The value for each number that `index` may be, the last one for all others.
Expr Cases(const Expr& index, const std::vector<Expr>& values) {
  Expr cases = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    cases = IfThenElse(index == Const(index.dtype(), static_cast<int64_t>(i)), values[i], cases);
  }
  return cases;
}

// The sum of the elements times their coefficients, those of zero left out.
Expr Combination(const std::vector<double>& coefficients, const std::vector<Expr>& elements) {
  Expr sum;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    const double c = coefficients[i];
    if (c == 0) continue;
    if (!sum) {
      sum = c == 1 ? elements[i] : elements[i] * ConstFloat(elements[i].dtype(), c);
    } else if (c == 1) {
      sum = sum + elements[i];
    } else if (c == -1) {
      sum = sum - elements[i];
    } else {
      sum = sum + elements[i] * ConstFloat(elements[i].dtype(), c);
    }
  }
  return sum;
}

// Each row of what products read, whose last coefficient is one. Rows of opposite points differ in the sign of every
// other coefficient: written as the sum or the difference of two parts, they share these.
std::vector<Expr> InputSums(const ToomCook::Matrix& coefficients, const std::vector<Expr>& elements) {
  std::vector<Expr> sums;
  for (const std::vector<double>& row : coefficients) {
    std::vector<double> with_last = row, others = row;
    double sign = 0;  // of the last of the others
    const auto last = std::find_if(row.rbegin(), row.rend(), [](double c) { return c != 0; });
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_other = (std::distance(last, row.rend()) - 1 - static_cast<int64_t>(i)) % 2 != 0;
      (is_other ? with_last : others)[i] = 0;
      if (is_other && row[i] != 0) sign = row[i];
    }
    if (sign < 0) std::ranges::transform(others, others.begin(), [](double c) { return 0 - c; });
    const Expr first = Combination(with_last, elements), second = Combination(others, elements);
    sums.push_back(sign == 0 ? first : sign > 0 ? first + second : first - second);
  }
  return sums;
}

// Each output. Products at opposite points have the same coefficients up to the sign: outputs share their sums and
// differences.
std::vector<Expr> OutputSums(const ToomCook::Matrix& coefficients, const std::vector<Expr>& products) {
  const auto are_opposite = [&](size_t a, size_t b) {
    return b < products.size() &&
           std::ranges::all_of(
               coefficients, [&](const std::vector<double>& row) { return std::abs(row[a]) == std::abs(row[b]); });
  };
  std::vector<Expr> sums;
  for (const std::vector<double>& row : coefficients) {
    std::vector<double> scales;
    std::vector<Expr> terms;
    for (size_t p = 0; p < products.size(); ++p) {
      scales.push_back(row[p]);
      if (!are_opposite(p, p + 1)) {
        terms.push_back(products[p]);
        continue;
      }
      terms.push_back(row[p] == row[p + 1] ? products[p] + products[p + 1] : products[p] - products[p + 1]);
      ++p;
    }
    sums.push_back(Combination(scales, terms));
  }
  return sums;
}

class Transformer {
 public:
  Transformer(const Function& function, const BlockNode& block, const ProductSum& sum, size_t iterator,
              size_t reduction, int64_t outputs)
      : function_(function),
        block_(block),
        store_(*sum.store),
        iterator_(block.iter_vars[iterator]),
        reduction_(block.iter_vars[reduction]),
        extent_(iterator_.domain.extent),
        window_(*AsInt(reduction_.domain.extent)),
        outputs_(outputs),
        coefficients_(ToomCookCoefficients(outputs, window_)) {}

  // Whether the window is one: the output at the iterator, `rows` at the iterator and the reduction, `columns` at the
  // reduction.
  bool FindWindow(const LoadNode& rows, const LoadNode& columns) {
    rows_ = &rows;
    columns_ = &columns;
    const auto output = OnlyUse(store_.indices, {iterator_.var});
    const auto row = OnlyUse(rows.indices, {iterator_.var, reduction_.var});
    const auto column = OnlyUse(columns.indices, {iterator_.var, reduction_.var});
    if (!output || !row || !column) return false;
    if (!store_.indices[*output].same_as(iterator_.var)) return false;
    if (!columns.indices[*column].same_as(reduction_.var)) return false;
    output_dim_ = *output;
    row_dim_ = *row;
    column_dim_ = *column;
    arith::Analyzer analyzer;
    const auto linear = arith::DetectLinear(rows.indices[*row], {iterator_.var, reduction_.var}, &analyzer);
    if (!linear || !IsInt(linear->coefficients[0], 1)) return false;
    const auto dilation = AsInt(linear->coefficients[1]), begin = AsInt(linear->base);
    if (!dilation || *dilation < 1 || !begin) return false;
    dilation_ = *dilation;
    begin_ = *begin;
    const Expr per_phase = FloorDiv(extent_ + Index(dilation_ - 1), Index(dilation_));
    tiles_ = analyzer.Simplify(FloorDiv(per_phase + Index(outputs_ - 1), Index(outputs_)));
    return true;
  }

  // Whether the block reads all of an operand but, of the rows, along the window.
  bool ReadsAll() const { return ReadsAll(*rows_, row_dim_) && ReadsAll(*columns_, columns_->indices.size()); }

  // The new blocks, and the buffers between them.
  Stmt Apply(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops, uint32_t* next_id,
             WinogradResult* result) {
    const Stmt tiles = Tiles(next_id, &result->tiles), input = Input(next_id, &result->input);
    const Stmt kernel = Kernel(next_id, &result->kernel);
    const Stmt products = Products(realize, loops, next_id), output = Output(next_id, &result->output);
    return Sequence({tiles, input, kernel, products, output});
  }
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  int64_t products() const { return outputs_ + window_ - 1; }
  Expr Index(int64_t value) const { return Const(iterator_.var.dtype(), value); }

  bool ReadsAll(const LoadNode& load, size_t but) const {
    arith::Analyzer analyzer;
    arith::Domain domain;
    for (const IterVar& iter : block_.iter_vars) domain.push_back({iter.var, iter.domain});
    arith::Region element;
    for (const Expr& index : load.indices) element.push_back({index, Const(index.dtype(), 1)});
    const std::optional<arith::Region> touched = arith::MayTouch(element, domain, Expr(), &analyzer);
    for (size_t d = 0; touched && d < element.size(); ++d) {
      if (d == but) continue;
      const Range& range = (*touched)[d];
      if (!IsInt(analyzer.Simplify(range.min), 0)) return false;
      if (!analyzer.CanProveEqual(range.extent, load.buffer->shape[d])) return false;
    }
    return touched.has_value();
  }

  // A step that was taken before has blocks of these names.
  std::string NameOf(const char* what) const {
    std::string name = block_.name + what;
    for (int i = 1; !BlocksNamed(function_, name).empty(); ++i) name = block_.name + what + "_" + std::to_string(i);
    return name;
  }

  Buffer NewBuffer(const char* what, std::vector<Expr> shape) {
    buffers_.emplace_back(NameOf(what), std::move(shape), store_.buffer->dtype);
    return buffers_.back();
  }

  // Extents of, and indices for, what one of the iterator's values becomes: a tile and, of dilated windows, a phase.
  std::vector<Expr> TileShape() const {
    return dilation_ > 1 ? std::vector<Expr>{tiles_, Index(dilation_)} : std::vector<Expr>{tiles_};
  }
  std::vector<IterVar> TileIterators() const {
    std::vector<IterVar> iterators = {Iterator("t", tiles_)};
    if (dilation_ > 1) iterators.push_back(Iterator("p", Index(dilation_)));
    return iterators;
  }

  // Dimensions of a transformed operand and iterators over it: the product, then the operand's own.
  struct Domain {
    std::vector<IterVar> iterators;
    std::vector<Expr> shape, indices;
  };
  Domain Transformed(const Buffer& operand, size_t dim, const std::vector<IterVar>& in_its_place) const {
    std::vector<IterVar> own;
    for (size_t d = 0; d < operand->shape.size(); ++d) {
      own.push_back(Iterator("i" + std::to_string(d), operand->shape[d]));
    }
    Domain domain{With(own, dim, in_its_place), {}, {}};
    domain.iterators.insert(domain.iterators.begin(), Iterator("x", Index(products())));
    for (const IterVar& iter : domain.iterators) {
      domain.shape.push_back(iter.domain.extent);
      domain.indices.push_back(iter.var);
    }
    return domain;
  }

  // What tiles are computed from, element by element of their windows.
  Stmt Tiles(uint32_t* next_id, uint32_t* id) {
    const std::vector<IterVar> tile = TileIterators();
    const Domain domain = Transformed(rows_->buffer, row_dim_, tile);
    tile_buffer_ = NewBuffer("_tiles", domain.shape);
    Expr place = tile[0].var * Index(outputs_ * dilation_) + domain.indices[0] * Index(dilation_) + Index(begin_);
    if (dilation_ > 1) place = place + tile[1].var;
    std::vector<Expr> indices(domain.indices.begin() + 1, domain.indices.end());
    indices.erase(indices.begin() + static_cast<int64_t>(row_dim_) + 1,
                  indices.begin() + static_cast<int64_t>(row_dim_ + tile.size()));
    indices[row_dim_] = place;
    const Expr end = extent_ + Index(begin_ + (window_ - 1) * dilation_);
    const Expr last = (tiles_ * Index(outputs_) + Index(window_ - 1)) * Index(dilation_) + Index(begin_);
    const bool inside = arith::Analyzer().CanProveLessEqual(last, end);
    const Expr element = rows_->buffer.Load(indices);
    const Expr zero = Const(element.dtype(), 0);
    return MakeBlock({.name = tile_buffer_->name,
                      .iters = domain.iterators,
                      .target = tile_buffer_,
                      .indices = domain.indices,
                      .value = inside ? element : IfThenElse(place < arith::Simplify(end), element, zero)},
                     next_id, id);
  }

  Stmt Input(uint32_t* next_id, uint32_t* id) {
    const Domain domain = Transformed(rows_->buffer, row_dim_, TileIterators());
    input_ = NewBuffer("_input", domain.shape);
    std::vector<Expr> elements;
    for (int64_t j = 0; j < products(); ++j) {
      std::vector<Expr> indices = domain.indices;
      indices[0] = Index(j);
      elements.push_back(tile_buffer_.Load(indices));
    }
    return MakeBlock({.name = input_->name,
                      .iters = domain.iterators,
                      .target = input_,
                      .indices = domain.indices,
                      .value = Cases(domain.indices[0], InputSums(coefficients_.input, elements))},
                     next_id, id);
  }

  Stmt Kernel(uint32_t* next_id, uint32_t* id) {
    const Domain domain = Transformed(columns_->buffer, column_dim_, {});
    kernel_ = NewBuffer("_kernel", domain.shape);
    // Each element times its coefficient, so that it stands there once: this runs ahead of time, where zeros do not
    // matter.
    Expr sum;
    for (int64_t k = 0; k < window_; ++k) {
      std::vector<Expr> indices(domain.indices.begin() + 1, domain.indices.end());
      indices.insert(indices.begin() + static_cast<int64_t>(column_dim_), Index(k));
      std::vector<Expr> coefficients;
      for (const std::vector<double>& row : coefficients_.kernel) {
        coefficients.push_back(ConstFloat(kernel_->dtype, row[static_cast<size_t>(k)]));
      }
      const Expr term = columns_->buffer.Load(indices) * Cases(domain.indices[0], coefficients);
      sum = sum ? sum + term : term;
    }
    return MakeBlock(
        {.name = kernel_->name, .iters = domain.iterators, .target = kernel_, .indices = domain.indices, .value = sum},
        next_id, id);
  }

  // The block itself, over products and tiles instead of the iterator and the window.
  Stmt Products(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops, uint32_t* next_id) {
    const IterVar product = Iterator("vx", Index(products()));
    const std::vector<IterVar> tile = TileIterators();
    std::vector<Expr> shape = With(store_.buffer->shape, output_dim_, TileShape());
    shape.insert(shape.begin(), Index(products()));
    products_ = NewBuffer("_products", std::move(shape));

    std::vector<ForNode::Fields> nest;
    std::vector<Expr> bindings;
    BlockNode::Fields fields = block_.fields();
    fields.iter_vars.clear();
    const auto add = [&](const IterVar& iter, const std::string& loop_name) {
      const Var loop(loop_name, iter.var.dtype());
      nest.push_back({.id = (*next_id)++, .var = loop, .extent = iter.domain.extent});
      bindings.push_back(loop);
      fields.iter_vars.push_back(iter);
    };
    std::vector<Expr> of_tile;
    for (const IterVar& iter : tile) of_tile.push_back(iter.var);
    add(product, "x");
    for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
      const IterVar& iter = block_.iter_vars[i];
      if (iter.var.same_as(reduction_.var)) continue;
      if (iter.var.same_as(iterator_.var)) {
        for (const IterVar& part : tile) add(part, part.var.name());
      } else {
        add(iter, LoopName(realize.bindings[i], loops));
      }
    }
    const auto at = [&](const std::vector<Expr>& indices, size_t dim, const std::vector<Expr>& in_its_place) {
      std::vector<Expr> transformed = With(indices, dim, in_its_place);
      transformed.insert(transformed.begin(), product.var);
      return transformed;
    };
    const std::vector<Expr> stored = at(store_.indices, output_dim_, of_tile);
    const Expr rows = input_.Load(at(rows_->indices, row_dim_, of_tile));
    const Expr columns = kernel_.Load(at(columns_->indices, column_dim_, {}));
    fields.init = Store(products_, Const(products_->dtype, 0), stored);
    fields.body = Store(products_, products_.Load(stored) + rows * columns, stored);
    return Nest(std::move(nest), Realize(std::move(bindings), True(), TouchingBlock(std::move(fields))));
  }

  static std::string LoopName(const Expr& binding, const std::vector<const ForNode*>& loops) {
    for (const ForNode* loop : loops) {
      if (binding.same_as(loop->var)) return loop->var.name();
    }
    return "i";
  }

  // At the block's spatial iterators.
  Stmt Output(uint32_t* next_id, uint32_t* id) {
    std::vector<IterVar> iterators;
    std::ranges::copy_if(block_.iter_vars, std::back_inserter(iterators),
                         [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
    const Expr place = dilation_ > 1 ? FloorDiv(iterator_.var, Index(dilation_)) : Expr(iterator_.var);
    std::vector<Expr> of_tile = {FloorDiv(iterator_.var, Index(outputs_ * dilation_))};
    if (dilation_ > 1) of_tile.push_back(FloorMod(iterator_.var, Index(dilation_)));
    std::vector<Expr> elements;
    for (int64_t x = 0; x < products(); ++x) {
      std::vector<Expr> indices = With(store_.indices, output_dim_, of_tile);
      indices.insert(indices.begin(), Index(x));
      elements.push_back(products_.Load(indices));
    }
    return MakeBlock({.name = NameOf("_output"),
                      .iters = iterators,
                      .target = store_.buffer,
                      .indices = store_.indices,
                      .value = Cases(FloorMod(place, Index(outputs_)), OutputSums(coefficients_.output, elements))},
                     next_id, id);
  }

  const Function& function_;
  const BlockNode& block_;
  const StoreNode& store_;
  const IterVar iterator_, reduction_;
  const Expr extent_;
  const int64_t window_, outputs_;
  const ToomCook coefficients_;
  const LoadNode *rows_ = nullptr, *columns_ = nullptr;
  size_t output_dim_ = 0, row_dim_ = 0, column_dim_ = 0;
  int64_t dilation_ = 1, begin_ = 0;  // `begin_`: of the first window
  Expr tiles_;
  Buffer tile_buffer_, input_, kernel_, products_;
  std::vector<Buffer> buffers_;
};

// Whether the iterator there is of that kind; those that reduce have constant extents.
bool IsIterator(const BlockNode& block, int64_t position, IterKind kind) {
  if (position < 0 || position >= std::ssize(block.iter_vars)) return false;
  const IterVar& iter = block.iter_vars[static_cast<size_t>(position)];
  return iter.kind == kind && (kind == IterKind::kSpatial || AsInt(iter.domain.extent).has_value());
}

}  // namespace

Outcome<WinogradResult> Winograd(const Function& function, uint32_t block_id, int64_t iterator, int64_t reduction,
                                 int64_t outputs) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const std::optional<ProductSum> sum = AsProductSum(block);
  if (!sum) {
    return Refusal{
        kName, "{block0} is not a sum from zero of products of two elements, all float32 or float64", {block_id}};
  }
  if (!IsIterator(block, iterator, IterKind::kSpatial) || !IsIterator(block, reduction, IterKind::kReduce)) {
    return Refusal{
        kName,      "{num0} and {num1} are not a spatial iterator of {block0} and a reduce iterator of constant extent",
        {block_id}, {},
        {},         {iterator, reduction}};
  }
  for (const IterVar& iter : block.iter_vars) {
    if (IsInt(iter.domain.min, 0)) continue;
    return Refusal{kName, "the iterator {text0} of {block0} does not start at 0", {block_id}, {}, {iter.var.name()}};
  }
  const int64_t window = *AsInt(block.iter_vars[static_cast<size_t>(reduction)].domain.extent);
  if (outputs < 2 || window < 2 || outputs + window - 1 > kMostToomCookProducts) {
    return Refusal{
        kName,
        "tiles of {num0} outputs of windows of {num1} in {block0}: each is 2 or more, and their sum {num2} at most",
        {block_id},
        {},
        {},
        {outputs, window, kMostToomCookProducts + 1}};
  }
  Transformer transformer(function, block, *sum, static_cast<size_t>(iterator), static_cast<size_t>(reduction),
                          outputs);
  if (!transformer.FindWindow(*sum->first, *sum->second) && !transformer.FindWindow(*sum->second, *sum->first)) {
    return Refusal{
        kName,      "the iterators {num0} and {num1} of {block0} are not that of an output and of a window along it",
        {block_id}, {},
        {},         {iterator, reduction}};
  }
  if (!transformer.ReadsAll()) return Refusal{kName, "{block0} does not read all of its operands", {block_id}};

  WinogradResult result;
  uint32_t next_id = function->next_id;
  const StmtNode* nest = OutermostOwnLoop(path);
  const BlockNode& scope = *ScopeOf(path)->block;
  const Stmt blocks = transformer.Apply(*realize, LoopsAbove(path), &next_id, &result);
  result.function =
      WithScopeBody(function, scope, ReplaceStmt(scope.body, nest, blocks), transformer.buffers(), next_id);
  return result;
}

}  // namespace tilewright
