#pragma once

#include <cmath>

namespace flatmetric {

// A number with twice the digits of a double. Sums and differences of masses of sizes up to 1e16 apart are exact in it:
// ties are seen as ties, and what is moved back and forth leaves nothing behind.
class Exact {
public:
    Exact() = default;
    Exact(double value) : high_(value) {}  // NOLINT: a double is one

    double value() const { return high_; }

    // Without loss, by Veltkamp's halves, where neither overflows.
    static Exact product(double a, double b) {
        const double high = a * b;
        if (!(std::abs(a) < kLargestFactor && std::abs(b) < kLargestFactor)) return high;
        const double big_a = kHalves * a;
        const double big_b = kHalves * b;
        const double a_high = big_a - (big_a - a);
        const double b_high = big_b - (big_b - b);
        const double a_low = a - a_high;
        const double b_low = b - b_high;
        return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
    }

    friend Exact operator+(const Exact& a, const Exact& b) {
        // Knuth's sum without loss: high + error is exactly a.high + b.high.
        const double high = a.high_ + b.high_;
        const double back = high - a.high_;
        const double error = (a.high_ - (high - back)) + (b.high_ - back);
        return normal(high, error + (a.low_ + b.low_));
    }
    friend Exact operator-(const Exact& a, const Exact& b) { return a + Exact(-b.high_, -b.low_); }
    Exact& operator+=(const Exact& other) { return *this = *this + other; }
    Exact& operator-=(const Exact& other) { return *this = *this - other; }
    friend bool operator<(const Exact& a, const Exact& b) {
        return a.high_ < b.high_ || (a.high_ == b.high_ && a.low_ < b.low_);
    }
    friend bool operator<=(const Exact& a, const Exact& b) { return !(b < a); }
    bool positive() const { return high_ > 0.0; }

private:
    static constexpr double kHalves = 134217729.0;   // 2^27 + 1 cuts 53 bits into two halves
    static constexpr double kLargestFactor = 1e150;  // far from an overflow of products

    Exact(double high, double low) : high_(high), low_(low) {}

    static Exact normal(double high, double low) {
        const double sum = high + low;
        return {sum, low - (sum - high)};
    }

    double high_ = 0.0;
    double low_ = 0.0;
};

}  // namespace flatmetric
