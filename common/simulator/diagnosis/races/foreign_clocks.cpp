#include "common/simulator/diagnosis/races/foreign_clocks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace bw::sim::races {
namespace {

constexpr size_t kPageClusters = 16;

/// The clocks of neighbouring clusters.
using Page = std::array<SharedClocks, kPageClusters>;
using SharedPage = SharedValue<Page>;

}  // namespace

/// Most joins meet an earlier state of a tree with a later one. So trees that grow out of each
/// other form a lineage, in which each holds the earlier ones.
struct ForeignClocks::Tree {
  /// A state of a lineage.
  struct State {
    uint64_t lineage = 0;
    uint32_t position = 0;
  };

  /// By the index of their first cluster over kPageClusters; null where nothing is known.
  std::vector<SharedPage> pages;
  State state;
  mutable bool is_continued = false;  ///< whether another tree is the next of the lineage
  /// The latest states of some other lineages that are known to be held.
  mutable std::array<State, 8> older{};
  mutable uint32_t next_older = 0;

  /// One that begins a lineage, or is the next of the lineage of `before`.
  Tree(std::vector<SharedPage>&& all, const Tree* before) : pages(std::move(all)) {
    static std::atomic<uint64_t> lineages{0};
    if (before != nullptr) {
      older = before->older;
      next_older = before->next_older;
      if (!std::exchange(before->is_continued, true)) {
        state = {before->state.lineage, before->state.position + 1};
        return;
      }
      add_older(before->state);
    }
    state.lineage = ++lineages;
  }
  /// Whether `other` is known to be held.
  [[nodiscard]] bool holds(const Tree& other) const {
    const auto is_held = [&](const State& held) {
      return held.lineage == other.state.lineage && held.position >= other.state.position;
    };
    return is_held(state) || std::any_of(older.begin(), older.end(), is_held);
  }
  /// Remembers that a state is held.
  void add_older(const State& held) const {
    for (State& known : older)
      if (known.lineage == held.lineage) {
        known.position = std::max(known.position, held.position);
        return;
      }
    older[next_older++ % older.size()] = held;
  }
};

namespace {

using Tree = ForeignClocks::Tree;

uint64_t mixed(uint64_t hash, const void* pointer) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  const uint64_t bits = (hash ^ reinterpret_cast<uintptr_t>(pointer)) * kFactor;
  return bits ^ bits >> 32;
}

/// The latest results of an operation on two values. Holds the values, so that an address means
/// one of them.
template <class First, class Second, size_t slots>
class Results {
 public:
  /// What make() has returned for the same operands, or returns now.
  template <class Make>
  SharedValue<First> get(const SharedValue<First>& first, const SharedValue<Second>& second,
                         Make&& make) {
    Entry& entry = entries_[mixed(mixed(0, first.get()), second.get()) % slots];
    if (entry.first != first || entry.second != second) entry = {first, second, make()};
    return entry.result;
  }

 private:
  struct Entry {
    SharedValue<First> first;
    SharedValue<Second> second;
    SharedValue<First> result;
  };
  std::array<Entry, slots> entries_;
};

/// The latest pages: equal ones are the same one.
class Pages {
 public:
  /// A page that is equal to `page`.
  SharedPage get(Page&& page) {
    uint64_t hash = 0;
    for (const SharedClocks& clocks : page) hash = mixed(hash, clocks.get());
    SharedPage& known = pages_[hash % pages_.size()];
    if (known == nullptr || *known != page) known = SharedPage::make(std::move(page));
    return known;
  }

 private:
  std::array<SharedPage, 1024> pages_;
};

/// What a host thread keeps. Clusters that know of each other run on one.
struct Kept {
  Pages pages;
  Results<AgentClocks, AgentClocks, 1024> joined_clocks;
  Results<Page, Page, 2048> joined_pages;
};

/// Launches that a program has not waited for run at its exit, when the main thread's variables are
/// gone: then it is made once more.
Kept& kept() {
  static thread_local Kept* all = nullptr;
  struct Owner {
    ~Owner() { delete std::exchange(all, nullptr); }
  };
  static thread_local const Owner owner;
  if (all == nullptr) all = new Kept;
  return *all;
}

/// Which of two rows the join of their elements is.
enum class Which : uint8_t { first, second, other };

/// Joins two rows element by element. `row` is set only where it is another one than the two.
template <class Row, class JoinOne>
Which join_rows(const Row& a, const Row& b, Row& row, JoinOne&& join_one) {
  const size_t common = std::min(a.size(), b.size());
  bool is_a = a.size() >= b.size(), is_b = b.size() >= a.size(), is_other = false;
  for (size_t i = 0; i < common; ++i) {
    if (a[i] == b[i]) continue;
    auto one = join_one(a[i], b[i]);
    const Row& so_far = is_a ? a : b;
    is_a = is_a && one == a[i];
    is_b = is_b && one == b[i];
    if (is_a || is_b) continue;
    if (!is_other) row = so_far;
    is_other = true;
    row[i] = std::move(one);
  }
  return is_a ? Which::first : is_b ? Which::second : Which::other;
}

SharedClocks joined_clocks(const SharedClocks& a, const SharedClocks& b) {
  if (a == nullptr || b == nullptr || a == b) return a == nullptr ? b : a;
  // Of equal ones always the same.
  if (b.get() < a.get()) return joined_clocks(b, a);
  return kept().joined_clocks.get(a, b, [&] { return joined(a, b); });
}

SharedPage joined_pages(const SharedPage& a, const SharedPage& b) {
  if (a == nullptr || b == nullptr || a == b) return a == nullptr ? b : a;
  return kept().joined_pages.get(a, b, [&] {
    Page page;
    const Which which = join_rows(*a, *b, page, joined_clocks);
    return which == Which::first    ? a
           : which == Which::second ? b
                                    : kept().pages.get(std::move(page));
  });
}

}  // namespace

const SharedClocks& ForeignClocks::of(uint64_t cluster) const {
  static const SharedClocks kNothing;
  const uint64_t number = cluster / kPageClusters;
  if (tree_ == nullptr || number >= tree_->pages.size()) return kNothing;
  const SharedPage& page = tree_->pages[number];
  return page == nullptr ? kNothing : (*page)[cluster % kPageClusters];
}

void ForeignClocks::learn(uint64_t cluster, const SharedClocks& clocks) {
  const SharedClocks& known = of(cluster);
  if (clocks == nullptr || clocks == known) return;
  const SharedClocks both = joined(known, clocks);
  if (both != known) replace(cluster, both);
}

void ForeignClocks::replace(uint64_t cluster, const SharedClocks& clocks) {
  const uint64_t number = cluster / kPageClusters;
  std::vector<SharedPage> pages;
  if (tree_ != nullptr) pages = tree_->pages;
  if (number >= pages.size()) pages.resize(number + 1);
  Page page;
  if (pages[number] != nullptr) page = *pages[number];
  page[cluster % kPageClusters] = clocks;
  pages[number] = kept().pages.get(std::move(page));
  tree_ = SharedValue<Tree>::make(std::move(pages), tree_.get());
}

void ForeignClocks::join(const ForeignClocks& other) {
  if (other.tree_ == nullptr || other.tree_ == tree_) return;
  if (tree_ == nullptr || other.tree_->holds(*tree_)) {
    tree_ = other.tree_;
    return;
  }
  if (tree_->holds(*other.tree_)) return;
  std::vector<SharedPage> pages;
  switch (join_rows(tree_->pages, other.tree_->pages, pages, joined_pages)) {
    case Which::first:
      tree_->add_older(other.tree_->state);
      break;
    case Which::second:
      other.tree_->add_older(tree_->state);
      tree_ = other.tree_;
      break;
    case Which::other: {
      auto both = SharedValue<Tree>::make(std::move(pages), tree_.get());
      both->add_older(other.tree_->state);
      tree_ = std::move(both);
    }
  }
}

}  // namespace bw::sim::races
