#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "support/buffer_pool.hpp"

namespace flatmetric {

// An allocator that leaves numbers uninitialized and reuses memory freed by earlier columns.
template <class T>
struct Unset : std::allocator<T> {
    Unset() = default;
    template <class U>
    Unset(const Unset<U>&) noexcept {}
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T) / 2) throw std::bad_array_new_length();
        return static_cast<T*>(BufferPool::shared().acquire(count * sizeof(T)));
    }
    void deallocate(T* at, std::size_t count) noexcept { BufferPool::shared().release(at, count * sizeof(T)); }
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
