#include "frames/order.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "support/magnitude.hpp"

namespace flatmetric {
namespace {

// Whether frame numbers never decrease. Compares many at a time, without a branch in between.
bool in_order(const std::int64_t* frame, Index n, Team& team) {
    std::atomic<bool> falls{false};
    over_ranges(static_cast<std::size_t>(n), team, [&](std::size_t begin, std::size_t end) {
        std::int64_t any = 0;
        for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) any |= frame[i] < frame[i - 1] ? 1 : 0;
        if (any != 0) falls.store(true);
    });
    return !falls.load();
}

// The frames of some rows of both sides.
std::vector<Frame> list_frames(const Ordered& truth, const Ordered& pred, Frame range) {
    std::vector<Frame> frames;
    Index i = range.truth_begin;
    Index j = range.pred_begin;
    while (i < range.truth_end || j < range.pred_end) {
        Frame frame;
        if (i == range.truth_end) {
            frame.number = pred.frame(j);
        } else if (j == range.pred_end) {
            frame.number = truth.frame(i);
        } else {
            frame.number = std::min(truth.frame(i), pred.frame(j));
        }
        frame.truth_begin = i;
        if (i < range.truth_end && truth.frame(i) == frame.number) i = truth.end_of_frame(i);
        frame.truth_end = i;
        frame.pred_begin = j;
        if (j < range.pred_end && pred.frame(j) == frame.number) j = pred.end_of_frame(j);
        frame.pred_end = j;
        frames.push_back(frame);
    }
    return frames;
}

}  // namespace

Ordered::Ordered(const Cloud& in, int dim, Team& team, double largest) : cloud(in) {
    const auto n = static_cast<std::size_t>(in.n);
    const auto width = static_cast<std::size_t>(dim);
    coords_.resize(n * width);
    mass_.resize(in.mass == nullptr ? 0 : n);
    if (in.frame != nullptr) {
        frame_.resize(n);
        over_ranges(n, team, [&](std::size_t begin, std::size_t end) {
            std::copy(in.frame + begin, in.frame + end, frame_.data() + begin);
        });
        cloud.frame = frame_.data();
        if (!in_order(frame_.data(), in.n, team)) {
            row_.resize(n);
            std::iota(row_.begin(), row_.end(), 0);
            stable_sort(row_, team, [&](Index a, Index b) { return frame_[a] < frame_[b]; });
        }
    }
    over_ranges(n, team, [&](std::size_t begin, std::size_t end) {
        if (row_.empty()) {
            std::copy(in.coords + begin * width, in.coords + end * width, coords_.data() + begin * width);
            if (in.mass != nullptr) std::copy(in.mass + begin, in.mass + end, mass_.data() + begin);
        }
        for (std::size_t i = row_.empty() ? end : begin; i < end; ++i) {
            std::copy_n(in.coords + static_cast<std::size_t>(row_[i]) * width, width, coords_.data() + i * width);
            if (in.mass != nullptr) mass_[i] = in.mass[row_[i]];
        }
        const bool fits = all_within(coords_.data() + begin * width, (end - begin) * width, largest) &&
                          (in.mass == nullptr ||
                           (all_within(mass_.data() + begin, end - begin, largest) &&
                            std::all_of(mass_.data() + begin, mass_.data() + end, [](double m) { return m >= 0.0; })));
        if (!fits) throw BeyondLimit{};
    });
    cloud.coords = coords_.data();
    if (in.mass != nullptr) cloud.mass = mass_.data();
}

// By an exponential and then a binary search.
Index Ordered::end_of_frame(Index begin) const {
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

Index Ordered::begin_of_frame(std::int64_t number) const {
    Index begin = 0;
    for (Index count = cloud.n; count > 0;) {
        const Index half = count / 2;
        if (frame(begin + half) < number) {
            begin += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return begin;
}

void Ordered::restore_order(Column<double>& values, Team& team) const {
    if (row_.empty()) return;
    const Column<double> in_frame_order = values;
    over_ranges(row_.size(), team, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) values[row_[i]] = in_frame_order[i];
    });
}

// The rows are cut where a frame of the truth begins, and the parts listed in parallel.
std::vector<Frame> list_frames(const Ordered& truth, const Ordered& pred, Team& team) {
    constexpr Index kRowsInPart = Index{1} << 14;
    const Frame all{0, 0, truth.cloud.n, 0, pred.cloud.n};
    if (truth.cloud.frame == nullptr) return {all};
    std::vector<Frame> ranges{all};
    for (Index at = kRowsInPart; at < truth.cloud.n; at += kRowsInPart) {
        const std::int64_t number = truth.frame(at);
        ranges.back().truth_end = truth.begin_of_frame(number);
        ranges.back().pred_end = pred.begin_of_frame(number);
        ranges.push_back({0, ranges.back().truth_end, truth.cloud.n, ranges.back().pred_end, pred.cloud.n});
    }
    std::vector<std::vector<Frame>> parts(ranges.size());
    team.run(ranges.size(), [&](std::size_t k, int, Interrupt&) { parts[k] = list_frames(truth, pred, ranges[k]); });
    std::vector<Frame> frames = std::move(parts[0]);
    for (std::size_t k = 1; k < parts.size(); ++k) frames.insert(frames.end(), parts[k].begin(), parts[k].end());
    return frames;
}

}  // namespace flatmetric
