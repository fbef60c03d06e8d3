#pragma once

#include <cstddef>
#include <vector>

#include "geometry/points.hpp"

namespace flatmetric {

// Mass carried from one source to one target.
struct Cell {
    Index source;
    Index target;
    Index next_of_target;
    double mass;
    double distance;
};

// The plan as it stands: the cells with mass, linked into a list for each target, and the mass that is left on each side.
class Plan {
public:
    std::vector<double> source_left;
    std::vector<double> target_left;

    void reset(const std::vector<double>& source_mass, const std::vector<double>& target_mass) {
        source_left = source_mass;
        target_left = target_mass;
        first_of_target_.assign(target_mass.size(), kNone);
        cells_.clear();
        unused_ = kNone;
        size_ = 0;
    }

    // How many cells carry mass.
    std::size_t size() const { return size_; }

    const Cell& cell(Index c) const { return cells_[c]; }
    Index first_of_target(Index y) const { return first_of_target_[y]; }

    void add(Index source, Index target, double mass, double distance) {
        for (Index c = first_of_target_[target]; c != kNone; c = cells_[c].next_of_target) {
            if (cells_[c].source == source) {
                cells_[c].mass += mass;
                return;
            }
        }
        const Cell fresh{source, target, first_of_target_[target], mass, distance};
        Index at = unused_;
        if (at != kNone) {
            unused_ = cells_[at].next_of_target;
            cells_[at] = fresh;
        } else {
            at = static_cast<Index>(cells_.size());
            cells_.push_back(fresh);
        }
        first_of_target_[target] = at;
        ++size_;
    }

    // Removes `mass`, at most what the cell carries; an emptied cell leaves the plan.
    void take(Index c, double mass) {
        Cell& cell = cells_[c];
        cell.mass -= mass;
        if (cell.mass > 0.0) return;
        Index* link = &first_of_target_[cell.target];
        while (*link != c) link = &cells_[*link].next_of_target;
        *link = cell.next_of_target;
        cell.next_of_target = unused_;
        unused_ = c;
        --size_;
    }

    // Calls visit(cell) for every cell, by target.
    template <class Visit>
    void visit(const Visit& visit) {
        // No branch, since whether a target has a cell is unpredictable: all are written, only those with one are kept.
        used_.resize(first_of_target_.size() + 1);
        std::size_t used = 0;
        for (const Index first : first_of_target_) {
            used_[used] = first;
            used += first != kNone ? 1 : 0;
        }
        for (std::size_t k = 0; k < used; ++k) {
            for (Index c = used_[k]; c != kNone; c = cells_[c].next_of_target) visit(cells_[c]);
        }
    }

private:
    std::vector<Index> first_of_target_;
    std::vector<Cell> cells_;
    std::vector<Index> used_;
    Index unused_ = kNone;
    std::size_t size_ = 0;
};

}  // namespace flatmetric
