#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "points.hpp"

namespace flatmetric {

// The points of one frame in order of their first coordinate: whoever is near is near in this order.
template <int D>
class AlongX {
public:
    struct Entry {
        double c[D];
        Index id;
    };

    void sort(const double* coords, Index n) {
        entries_.resize(n);
        for (Index i = 0; i < n; ++i) {
            std::copy_n(coords + static_cast<std::size_t>(i) * D, D, entries_[i].c);
            entries_[i].id = i;
        }
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.c[0] < b.c[0]; });
    }

    Index size() const { return static_cast<Index>(entries_.size()); }
    const Entry& operator[](Index i) const { return entries_[i]; }

private:
    std::vector<Entry> entries_;
};

}  // namespace flatmetric
