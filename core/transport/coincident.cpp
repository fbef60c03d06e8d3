#include "transport/coincident.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace flatmetric {

void Coincident::merge(Points<0> points, const double* mass) {
    dim_ = points.dims();
    rows_.resize(points.n);
    std::iota(rows_.begin(), rows_.end(), 0);
    std::sort(rows_.begin(), rows_.end(), [&](Index a, Index b) {
        const double* const p = points[a];
        const double* const q = points[b];
        for (int k = 0; k < dim_; ++k) {
            if (p[k] != q[k]) return p[k] < q[k];
        }
        return a < b;
    });
    begin_.clear();
    coords_.clear();
    mass_.clear();
    row_mass_.resize(points.n);
    for (Index i = 0; i < points.n; ++i) {
        const double* const p = points[rows_[i]];
        if (i == 0 || !std::equal(p, p + dim_, points[rows_[i - 1]])) {
            begin_.push_back(i);
            coords_.insert(coords_.end(), p, p + dim_);
            mass_.push_back(0.0);
        }
        row_mass_[i] = mass == nullptr ? 1.0 : mass[rows_[i]];
        mass_.back() += row_mass_[i];
    }
    begin_.push_back(points.n);
}

Coincident::Cursor::Cursor(const Coincident& of)
    : of_(of),
      at_(of.begin_.begin(), of.begin_.end() - 1),
      left_(at_.size()) {
    for (std::size_t place = 0; place < at_.size(); ++place) left_[place] = of.row_mass_[at_[place]];
}

double Coincident::Cursor::room(Index place, double wanted) {
    Index& at = at_[place];
    while (at + 1 < of_.begin_[place + 1]) {
        if (left_[place] > kRounding * of_.row_mass_[at]) return std::min(left_[place], wanted);
        left_[place] = of_.row_mass_[++at];
    }
    return wanted;
}

}  // namespace flatmetric
