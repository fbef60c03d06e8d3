#pragma once

#include <cstddef>

namespace flatmetric {

// Whether all numbers are finite and at most `limit` in size.
bool all_within(const double* numbers, std::size_t count, double limit);

}  // namespace flatmetric
