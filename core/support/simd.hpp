#pragma once

#include <cstring>

namespace flatmetric {

// Two numbers that are computed at once.
#if defined(__GNUC__)
using Double2 = double __attribute__((vector_size(16)));

inline Double2 min2(Double2 a, Double2 b) { return a < b ? a : b; }
inline Double2 max2(Double2 a, Double2 b) { return a > b ? a : b; }
#else
struct Double2 {
    double v[2];
    double operator[](int k) const { return v[k]; }
};
inline Double2 operator+(Double2 a, Double2 b) { return {a[0] + b[0], a[1] + b[1]}; }
inline Double2 operator-(Double2 a, Double2 b) { return {a[0] - b[0], a[1] - b[1]}; }
inline Double2 operator*(Double2 a, Double2 b) { return {a[0] * b[0], a[1] * b[1]}; }

inline Double2 min2(Double2 a, Double2 b) { return {a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]}; }
inline Double2 max2(Double2 a, Double2 b) { return {a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]}; }
#endif

inline Double2 broadcast(double value) { return Double2{value, value}; }

inline Double2 load2(const double* at) {
    Double2 both;
    std::memcpy(&both, at, sizeof both);
    return both;
}

inline void store2(double* at, Double2 both) { std::memcpy(at, &both, sizeof both); }

inline double lower_lane(Double2 both) { return both[0] < both[1] ? both[0] : both[1]; }

}  // namespace flatmetric
