#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"
#include "transport/measure.hpp"
#include "transport/partial_transport.hpp"

namespace flatmetric {

// The pairs of a plan as columns, the way they leave the core. Where every point has mass 1 so has every pair, and the
// masses are left out.
struct Pairs {
    Column<std::int64_t> truth;
    Column<std::int64_t> pred;
    Column<double> mass;
    Column<double> distance;

    std::size_t size() const { return truth.size(); }
    void resize(std::size_t n, bool with_mass) {
        truth.resize(n);
        pred.resize(n);
        distance.resize(n);
        if (with_mass) mass.resize(n);
    }
};

struct Parts {
    double displaced = 0.0;
    double missed = 0.0;
    double false_ = 0.0;
    double lower_bound = 0.0;
    std::int64_t by_simplex = 0;  // how many points of the side with less mass the simplex has placed
};

// The Flat Metric of one pair of measures. Buffers are kept from one problem to the next.
class FlatMetric {
public:
    explicit FlatMetric(int dim) : transport_(new_transport(dim)) {}

    // Writes f at every point into the two potential arrays, and leaves the plan for `append_pairs`.
    Parts solve(const Measure& truth, const Measure& pred, double lam, Method method, double* truth_potential,
                double* pred_potential, Crew& crew);

    // Appends the plan of the last problem, by truth and then pred. Point i of a side is row truth_row(i), pred_row(i)
    // there.
    template <class TruthRow, class PredRow>
    void append_pairs(const TruthRow& truth_row, const PredRow& pred_row, Pairs& pairs, Crew& crew) const {
        const std::size_t first = pairs.size();
        pairs.resize(first + pairs_.size(), with_mass_);
        over_ranges(pairs_.size(), crew, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                pairs.truth[first + i] = truth_row(pairs_[i].truth);
                pairs.pred[first + i] = pred_row(pairs_[i].pred);
                pairs.distance[first + i] = pairs_[i].distance;
                if (with_mass_) pairs.mass[first + i] = pairs_[i].mass;
            }
        });
    }

private:
    struct Pair {
        Index truth;
        Index pred;
        double mass;
        double distance;
    };

    void list_pairs(bool from_pred, Index most, Crew& crew);
    void sort_pairs(Index truths, Crew& crew);

    std::unique_ptr<PartialTransport> transport_;
    bool with_mass_ = false;
    Column<Pair> pairs_;
    Column<Pair> sorted_;
    std::vector<std::size_t> range_begin_;
};

}  // namespace flatmetric
