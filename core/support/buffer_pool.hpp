#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>

namespace flatmetric {

// Keeps the memory of large columns for the next call: touching fresh pages takes about as long as computing what goes
// into them. On 2000 frames of 100 points this saves 9 % of a call with one thread and 13 % with two; on 20 000 frames
// a quarter with one thread and nearly half with sixteen.
// Blocks come in sizes an eighth of a power of two apart, so that a size alone tells which block fits.
class BufferPool {
public:
    static BufferPool& shared() {
        static BufferPool* const pool = new BufferPool;  // never destroyed: columns may outlive it otherwise
        return *pool;
    }

    void* acquire(std::size_t bytes) {
        if (bytes < kSmallest) return ::operator new(bytes);
        const std::size_t size = rounded(bytes);
        // If the lock is taken, as in a forked child, memory is allocated the ordinary way.
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
            for (std::size_t i = 0; i < count_; ++i) {
                if (kept_[i].bytes == size) return remove(i);
            }
            if (void* const memory = ::operator new(size, std::nothrow)) return memory;
            while (count_ > 0) ::operator delete(remove(0));  // what is kept may be what is missing
        }
        return ::operator new(size);
    }

    void release(void* memory, std::size_t bytes) noexcept {
        if (bytes >= kSmallest && bytes <= kLargest) {
            if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
                const std::size_t size = rounded(bytes);
                while (count_ == kept_.size() || total_ + size > kMost) ::operator delete(remove(0));  // oldest first
                kept_[count_++] = {memory, size};
                total_ += size;
                return;
            }
        }
        ::operator delete(memory);
    }

private:
    static constexpr std::size_t kSmallest = std::size_t{1} << 16;
    static constexpr std::size_t kMost = std::size_t{1} << 28;
    static constexpr std::size_t kLargest = kMost / 4;

    struct Block {
        void* memory;
        std::size_t bytes;
    };

    static std::size_t rounded(std::size_t bytes) {
        std::size_t step = kSmallest / 8;
        while (step * 16 <= bytes) step *= 2;
        return (bytes + step - 1) / step * step;
    }

    void* remove(std::size_t i) noexcept {
        void* const memory = kept_[i].memory;
        total_ -= kept_[i].bytes;
        for (--count_; i < count_; ++i) kept_[i] = kept_[i + 1];
        return memory;
    }

    std::mutex mutex_;
    std::array<Block, 64> kept_{};
    std::size_t count_ = 0;
    std::size_t total_ = 0;
};

}  // namespace flatmetric
