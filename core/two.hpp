#pragma once

#include <cstring>

namespace flatmetric {

// Two numbers that are computed with at once.
#if defined(__GNUC__)
using Two = double __attribute__((vector_size(16)));

inline Two smaller(Two a, Two b) { return a < b ? a : b; }
inline Two larger(Two a, Two b) { return a > b ? a : b; }
#else
struct Two {
    double v[2];
    double operator[](int k) const { return v[k]; }
};
inline Two operator+(Two a, Two b) { return {a[0] + b[0], a[1] + b[1]}; }
inline Two operator-(Two a, Two b) { return {a[0] - b[0], a[1] - b[1]}; }
inline Two operator*(Two a, Two b) { return {a[0] * b[0], a[1] * b[1]}; }

inline Two smaller(Two a, Two b) { return {a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]}; }
inline Two larger(Two a, Two b) { return {a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]}; }
#endif

inline Two twice(double value) { return Two{value, value}; }

inline Two two_at(const double* at) {
    Two both;
    std::memcpy(&both, at, sizeof both);
    return both;
}

inline void put_two(double* at, Two both) { std::memcpy(at, &both, sizeof both); }

inline double smaller_of(Two both) { return both[0] < both[1] ? both[0] : both[1]; }

}  // namespace flatmetric
