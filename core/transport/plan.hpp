#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"

namespace flatmetric {

// Mass carried from one source to one target.
struct Cell {
    Index source;
    Index target;
    Cell* next_of_target;
    double mass;
    double distance;
};

// Cells for one thread, which keep their place in memory. Cells that another stock has handed out may be given back to
// this one.
class CellStock {
public:
    void reset() {
        block_ = 0;
        used_ = 0;
        unused_ = nullptr;
    }

    Cell* take() {
        if (unused_ != nullptr) {
            Cell* const cell = unused_;
            unused_ = cell->next_of_target;
            return cell;
        }
        if (used_ == kBlock) {
            ++block_;
            used_ = 0;
        }
        if (block_ == blocks_.size()) blocks_.emplace_back(new Cell[kBlock]);
        return &blocks_[block_][used_++];
    }

    void give(Cell* cell) {
        cell->next_of_target = unused_;
        unused_ = cell;
    }

private:
    static constexpr std::size_t kBlock = 1024;

    std::vector<std::unique_ptr<Cell[]>> blocks_;
    std::size_t block_ = 0;
    std::size_t used_ = 0;
    Cell* unused_ = nullptr;
};

// The plan as it stands: the cells with mass, linked into a list for each target, and the mass that is left on each
// side. Threads may work on it at the same time, each with a stock and on points of its own.
class Plan {
public:
    Column<double> source_left;
    Column<double> target_left;

    void reset(const Column<double>& source_mass, const Column<double>& target_mass, Crew& crew);

    Cell* first_of_target(Index y) const { return first_of_target_[y]; }

    void add(Index source, Index target, double mass, double distance, CellStock& stock) {
        // Most sources have no cell yet, and a target that takes from very many has a long list.
        if (cells_of_source_[source] > 0) {
            for (Cell* cell = first_of_target_[target]; cell != nullptr; cell = cell->next_of_target) {
                if (cell->source == source) {
                    cell->mass += mass;
                    return;
                }
            }
        }
        ++cells_of_source_[source];
        Cell* const fresh = stock.take();
        *fresh = {source, target, first_of_target_[target], mass, distance};
        first_of_target_[target] = fresh;
    }

    // Removes `mass`, at most what the cell carries; an emptied cell leaves the plan.
    void take(Cell* cell, double mass, CellStock& stock) {
        cell->mass -= mass;
        if (cell->mass > 0.0) return;
        Cell** link = &first_of_target_[cell->target];
        while (*link != cell) link = &(*link)->next_of_target;
        *link = cell->next_of_target;
        --cells_of_source_[cell->source];
        stock.give(cell);
    }

    // Takes all cells of a target out of the plan.
    void clear_target(Index y, CellStock& stock) {
        for (Cell* cell = first_of_target_[y]; cell != nullptr;) {
            Cell* const next = cell->next_of_target;
            --cells_of_source_[cell->source];
            stock.give(cell);
            cell = next;
        }
        first_of_target_[y] = nullptr;
    }

    // Calls visit(cell) for every cell of a range of targets, by target.
    template <class Visit>
    void visit(Index begin, Index end, const Visit& visit) const {
        constexpr Index kAtOnce = 256;
        Cell* used[kAtOnce];
        for (; begin < end; begin += kAtOnce) {
            // No branch, since whether a target has a cell is unpredictable: all are written, only those with one are
            // kept.
            Index count = 0;
            for (Index y = begin; y < std::min(end, begin + kAtOnce); ++y) {
                used[count] = first_of_target_[y];
                count += used[count] != nullptr ? 1 : 0;
            }
            for (Index k = 0; k < count; ++k) {
                for (const Cell* cell = used[k]; cell != nullptr; cell = cell->next_of_target) visit(*cell);
            }
        }
    }

private:
    Column<Cell*> first_of_target_;
    Column<Index> cells_of_source_;
};

}  // namespace flatmetric
