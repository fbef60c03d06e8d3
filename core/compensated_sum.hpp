#pragma once

#include <cmath>

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

}  // namespace flatmetric
