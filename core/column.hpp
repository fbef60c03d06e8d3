#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace flatmetric {

// An allocator that leaves numbers unset: the first to touch the memory is the thread that fills it.
template <class T>
struct Unset : std::allocator<T> {
    Unset() = default;
    template <class U>
    Unset(const Unset<U>&) noexcept {}
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
};

// A column of results.
template <class T>
using Column = std::vector<T, Unset<T>>;

}  // namespace flatmetric
