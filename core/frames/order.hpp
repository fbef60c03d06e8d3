#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"
#include "transport/measure.hpp"

namespace flatmetric {

// One side of a data set, as it came: row-major coordinates, masses (null: all 1), frame numbers (null: one frame).
struct Cloud {
    const double* coords = nullptr;
    Index n = 0;
    const double* mass = nullptr;
    const std::int64_t* frame = nullptr;

    // The points of some rows.
    template <int D>
    Points<D> points(int dim, Index begin, Index end) const {
        return {coords + static_cast<std::size_t>(begin) * dim, end - begin, dim};
    }
    Measure measure(int dim, Index begin, Index end) const {
        return {points<0>(dim, begin, end), mass == nullptr ? nullptr : mass + begin};
    }
};

// The rows of one frame on both sides, as ranges of the rows in frame order.
struct Frame {
    std::int64_t number = 0;
    Index truth_begin = 0;
    Index truth_end = 0;
    Index pred_begin = 0;
    Index pred_end = 0;
};

// A coordinate or mass that is too large, or not a number.
struct BeyondLimit {};

// A cloud with its rows in frame order: a copy, since the caller's memory may change while it is worked with.
// Coordinates and masses of the copy are at most `largest`; throws BeyondLimit for others.
class Ordered {
public:
    Cloud cloud;

    Ordered(const Cloud& in, int dim, Team& team, double largest);

    std::int64_t frame(Index i) const { return row_.empty() ? cloud.frame[i] : cloud.frame[row_[i]]; }
    Index original(Index i) const { return row_.empty() ? i : row_[i]; }

    // The end of the rows that have the frame of row `begin`.
    Index end_of_frame(Index begin) const;

    // The first row of a frame, or of the next one that there is.
    Index begin_of_frame(std::int64_t number) const;

    void restore_order(Column<double>& values, Team& team) const;

private:
    std::vector<Index> row_;  // empty: already in order
    Column<std::int64_t> frame_;
    Column<double> coords_;
    Column<double> mass_;
};

// All frames of both sides.
std::vector<Frame> list_frames(const Ordered& truth, const Ordered& pred, Team& team);

}  // namespace flatmetric
