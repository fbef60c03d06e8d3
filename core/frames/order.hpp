#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"

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
};

// The rows of one frame on both sides, as ranges of the rows in frame order.
struct Frame {
    std::int64_t number = 0;
    Index truth_begin = 0;
    Index truth_end = 0;
    Index pred_begin = 0;
    Index pred_end = 0;
};

// Whether frame numbers never decrease. Compares many at a time, without a branch in between.
inline bool in_order(const std::int64_t* frame, Index n) {
    constexpr Index kTogether = 512;
    for (Index begin = 0; begin + 1 < n; begin += kTogether) {
        const Index end = std::min(begin + kTogether, n - 1);
        std::int64_t falls = 0;
        for (Index i = begin; i < end; ++i) falls |= frame[i + 1] < frame[i] ? 1 : 0;
        if (falls != 0) return false;
    }
    return true;
}

// A cloud with its rows in frame order. Rows that are already in order are not copied.
struct Ordered {
    std::vector<Index> row;  // empty: already in order
    std::vector<double> coords_store;
    std::vector<double> mass_store;
    Cloud cloud;

    Ordered(const Cloud& in, int dim) : cloud(in) {
        if (in.frame == nullptr || in_order(in.frame, in.n)) return;
        row.resize(in.n);
        std::iota(row.begin(), row.end(), 0);
        std::stable_sort(row.begin(), row.end(), [&](Index a, Index b) { return in.frame[a] < in.frame[b]; });
        coords_store.resize(static_cast<std::size_t>(in.n) * dim);
        for (Index i = 0; i < in.n; ++i) {
            std::copy_n(in.coords + static_cast<std::size_t>(row[i]) * dim, dim,
                        coords_store.data() + static_cast<std::size_t>(i) * dim);
        }
        cloud.coords = coords_store.data();
        if (in.mass != nullptr) {
            mass_store.resize(in.n);
            for (Index i = 0; i < in.n; ++i) mass_store[i] = in.mass[row[i]];
            cloud.mass = mass_store.data();
        }
    }

    std::int64_t frame(Index i) const { return row.empty() ? cloud.frame[i] : cloud.frame[row[i]]; }
    Index original(Index i) const { return row.empty() ? i : row[i]; }

    // The end of the rows that have the frame of row `begin`, by an exponential and then a binary search.
    Index end_of_frame(Index begin) const {
        const std::int64_t number = frame(begin);
        const auto belongs = [&](Index i) { return i < cloud.n && frame(i) == number; };
        Index last = begin;
        Index step = 1;
        for (; belongs(last + step); step *= 2) last += step;
        for (; step > 1;) {
            step /= 2;
            if (belongs(last + step)) last += step;
        }
        return last + 1;
    }

    void restore_order(Column<double>& values) const {
        if (row.empty()) return;
        const Column<double> in_frame_order = values;
        for (std::size_t i = 0; i < row.size(); ++i) values[row[i]] = in_frame_order[i];
    }
};

inline std::vector<Frame> list_frames(const Ordered& truth, const Ordered& pred) {
    if (truth.cloud.frame == nullptr) return {{0, 0, truth.cloud.n, 0, pred.cloud.n}};
    std::vector<Frame> frames;
    Index i = 0;
    Index j = 0;
    while (i < truth.cloud.n || j < pred.cloud.n) {
        Frame frame;
        if (i == truth.cloud.n) {
            frame.number = pred.frame(j);
        } else if (j == pred.cloud.n) {
            frame.number = truth.frame(i);
        } else {
            frame.number = std::min(truth.frame(i), pred.frame(j));
        }
        frame.truth_begin = i;
        if (i < truth.cloud.n && truth.frame(i) == frame.number) i = truth.end_of_frame(i);
        frame.truth_end = i;
        frame.pred_begin = j;
        if (j < pred.cloud.n && pred.frame(j) == frame.number) j = pred.end_of_frame(j);
        frame.pred_end = j;
        frames.push_back(frame);
    }
    return frames;
}

}  // namespace flatmetric
