#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>

#ifdef __linux__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace flatmetric {

// Memory of large columns, kept for the next call: touching fresh pages takes as long as computing what goes into them.
// Blocks come in sizes an eighth of a power of two apart, so that a size alone tells which block fits. Large ones ask for
// large pages, of which there are fewer to touch.
class BufferPool {
public:
    static BufferPool& shared() {
        static BufferPool* const pool = new BufferPool;  // never destroyed: columns may outlive everything else
        return *pool;
    }

    void* take(std::size_t bytes) {
        if (bytes < kSmallest) return ::operator new(bytes);
        const std::size_t size = rounded(bytes);
        // A lock that is not free, as in a forked child, is not waited for: there is always the ordinary way.
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
            for (std::size_t i = 0; i < count_; ++i) {
                if (kept_[i].bytes == size) return remove(i);
            }
        }
        return fresh(size);
    }

    void give(void* memory, std::size_t bytes) noexcept {
        if (bytes >= kSmallest && bytes <= kLargest) {
            if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
                const std::size_t size = rounded(bytes);
                while (count_ == kept_.size() || total_ + size > kMost) ::operator delete(remove(0));  // the oldest goes first
                kept_[count_++] = {memory, size};
                total_ += size;
                return;
            }
        }
        ::operator delete(memory);
    }

private:
    static constexpr std::size_t kSmallest = std::size_t{1} << 16;
    static constexpr std::size_t kMost = std::size_t{1} << 25;
    static constexpr std::size_t kLargest = kMost / 4;
    static constexpr std::size_t kWorthLargePages = std::size_t{1} << 22;

    struct Block {
        void* memory;
        std::size_t bytes;
    };

    static std::size_t rounded(std::size_t bytes) {
        std::size_t step = kSmallest / 8;
        while (step * 16 <= bytes) step *= 2;
        return (bytes + step - 1) / step * step;
    }

    static void* fresh(std::size_t size) {
        void* const memory = ::operator new(size);
#ifdef __linux__
        if (size >= kWorthLargePages) {  // a wish: what becomes of it changes no result
            const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
            const std::size_t skipped = page - reinterpret_cast<std::uintptr_t>(memory) % page;
            madvise(static_cast<char*>(memory) + skipped, size - skipped, MADV_HUGEPAGE);
        }
#endif
        return memory;
    }

    void* remove(std::size_t i) noexcept {
        void* const memory = kept_[i].memory;
        total_ -= kept_[i].bytes;
        for (--count_; i < count_; ++i) kept_[i] = kept_[i + 1];
        return memory;
    }

    std::mutex mutex_;
    std::array<Block, 32> kept_{};
    std::size_t count_ = 0;
    std::size_t total_ = 0;
};

// Tells the process to keep the memory that it gives back, of whatever size, for the next who asks: good for one that
// computes and ends.
inline void keep_freed_memory() {
#ifdef __GLIBC__
    constexpr int kLargestThreshold = 1 << 25;  // more is refused
    mallopt(M_ARENA_MAX, 1);  // one store for all threads
    mallopt(M_MMAP_THRESHOLD, kLargestThreshold);
    mallopt(M_TOP_PAD, kLargestThreshold);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace flatmetric
