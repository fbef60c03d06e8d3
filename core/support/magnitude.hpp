#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flatmetric {

// Squares and products of lengths and masses within this size neither overflow nor vanish.
constexpr double kLargest = 1e100;

// Whether all numbers are finite and at most `limit` in size. With the sign cleared, the bits of doubles are ordered
// like the numbers, with infinities and NaN above all others, so one integer subtraction checks each.
inline bool all_within(const double* numbers, std::size_t count, double limit) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    std::uint64_t most;
    std::memcpy(&most, &limit, sizeof most);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, numbers + i, sizeof bits);
        below |= most - (bits & ~kSign);  // sets the sign bit if the size is above the limit
    }
    return (below & kSign) == 0;
}

}  // namespace flatmetric
