#pragma once
/// \file
/// What lets a scope be returned from the function that makes it, and still end exactly once.

namespace bw {

/// The object that a scope acts on at its end. Moved, never copied; what was moved from holds
/// nothing any more, so that of two scopes only the last one acts.
template <class T>
class ScopePointer {
 public:
  /// For a scope that uses `object`.
  __device__ __forceinline__ explicit ScopePointer(T& object) : object_(&object) {}
  __device__ __forceinline__ ScopePointer(ScopePointer&& other) : object_(other.object_) {
    other.clear();
  }
  ScopePointer& operator=(ScopePointer&&) = delete;

  /// False when it was moved from or cleared: there is nothing to end.
  __device__ __forceinline__ explicit operator bool() const { return object_ != nullptr; }
  /// What the scope uses.
  __device__ __forceinline__ T& operator*() const { return *object_; }
  /// What the scope uses.
  __device__ __forceinline__ T* operator->() const { return object_; }
  /// Holds nothing from now on.
  __device__ __forceinline__ void clear() { object_ = nullptr; }

 private:
  T* object_;
};

}  // namespace bw
