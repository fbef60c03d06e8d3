#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flatmetric {

// Neumaier's sum: its error does not grow with the number of terms, so the parts of a million
// molecules add up as exactly as those of ten.
class CompensatedSum {
public:
    void add(double term) {
        const double next = sum_ + term;
        carry_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
        sum_ = next;
    }
    double value() const { return sum_ + carry_; }

private:
    double sum_ = 0.0;
    double carry_ = 0.0;
};

// The sum of term(0), ..., term(n - 1): short runs plainly, in four lanes, and the runs compensated.
template <class Term>
double sum_of(std::size_t n, const Term& term) {
    constexpr std::size_t kRun = 32;
    CompensatedSum total;
    for (std::size_t begin = 0; begin < n; begin += kRun) {
        const std::size_t end = std::min(begin + kRun, n);
        double lane[4] = {0.0, 0.0, 0.0, 0.0};
        std::size_t i = begin;
        for (; i + 4 <= end; i += 4) {
            for (std::size_t k = 0; k < 4; ++k) lane[k] += term(i + k);
        }
        for (; i < end; ++i) lane[0] += term(i);
        total.add((lane[0] + lane[1]) + (lane[2] + lane[3]));
    }
    return total.value();
}

}  // namespace flatmetric
