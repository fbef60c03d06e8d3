#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flatmetric {

// Whether all numbers are at most `limit` in size. Without their signs the bits of numbers are ordered as the numbers
// are, infinities and what is no number above all others, so one comparison of integers sees them all.
inline bool all_within(const double* numbers, std::size_t count, double limit) {
    constexpr std::uint64_t kSize = ~(std::uint64_t{1} << 63);
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, numbers + i, sizeof bits);
        bits &= kSize;
        largest = bits > largest ? bits : largest;
    }
    std::uint64_t most;
    std::memcpy(&most, &limit, sizeof most);
    return largest <= most;
}

}  // namespace flatmetric
