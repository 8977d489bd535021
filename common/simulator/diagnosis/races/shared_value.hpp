#pragma once
/// \file
/// Values with several owners, counted without atomics.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bw::sim::races {

/// An owner of a value that none of its owners changes, or of nothing. What std::shared_ptr does,
/// at half of the size and without atomics, which took a third of the detector's time: the owners
/// of one value belong to one cluster or to clusters that are linked, which run on one host thread
/// at a time (Grid::host_threads).
template <class T>
class SharedValue {
 public:
  SharedValue() = default;
  SharedValue(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): like std::shared_ptr
  SharedValue(const SharedValue& other) : box_(other.box_) {
    if (box_ != nullptr) ++box_->owners;
  }
  SharedValue(SharedValue&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  SharedValue& operator=(SharedValue other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~SharedValue() {
    if (box_ != nullptr && --box_->owners == 0) box_->destroy(box_);
  }
  /// The owner of a new value.
  template <class... Arguments>
  [[nodiscard]] static SharedValue make(Arguments&&... arguments) {
    SharedValue made;
    made.box_ = new Filled(std::forward<Arguments>(arguments)...);
    return made;
  }

  /// The value, or null. It is at one address for as long as it has owners.
  [[nodiscard]] const T* get() const {
    return box_ == nullptr ? nullptr : &static_cast<const Filled*>(box_)->value;
  }
  const T& operator*() const { return *get(); }
  const T* operator->() const { return get(); }
  /// Whether it has no other owner.
  [[nodiscard]] bool is_only_owner() const { return box_ != nullptr && box_->owners == 1; }
  /// The value for a change by its only owner.
  [[nodiscard]] T& change() { return static_cast<Filled*>(box_)->value; }
  /// The value for a change: a new one if there was nothing, a copy if it has other owners.
  [[nodiscard]] T& own() {
    if (box_ == nullptr)
      *this = make();
    else if (!is_only_owner())
      *this = make(**this);
    return change();
  }
  /// Whether both own one value.
  friend bool operator==(const SharedValue& a, const SharedValue& b) { return a.box_ == b.box_; }
  friend bool operator==(const SharedValue& a, std::nullptr_t) { return a.box_ == nullptr; }

 private:
  /// T may be incomplete where owners are copied and destroyed.
  struct Box {
    uint32_t owners = 1;
    void (*destroy)(Box*) = nullptr;
  };
  struct Filled : Box {
    template <class... Arguments>
    explicit Filled(Arguments&&... arguments) : value{std::forward<Arguments>(arguments)...} {
      this->destroy = [](Box* box) { delete static_cast<Filled*>(box); };
    }
    T value;
  };
  Box* box_ = nullptr;
};

}  // namespace bw::sim::races
