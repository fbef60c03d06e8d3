#include "transport/plan.hpp"

#include <algorithm>

namespace flatmetric {

void Plan::reset(const Column<double>& source_mass, const Column<double>& target_mass, Crew& crew) {
    source_left.resize(source_mass.size());
    target_left.resize(target_mass.size());
    first_of_target_.resize(target_mass.size());
    cells_of_source_.resize(source_mass.size());
    const auto copy = [&](const Column<double>& mass, Column<double>& left) {
        over_ranges(mass.size(), crew, [&](std::size_t begin, std::size_t end) {
            std::copy(mass.data() + begin, mass.data() + end, left.data() + begin);
        });
    };
    copy(source_mass, source_left);
    copy(target_mass, target_left);
    over_ranges(target_mass.size(), crew, [this](std::size_t begin, std::size_t end) {
        std::fill(first_of_target_.data() + begin, first_of_target_.data() + end, nullptr);
    });
    over_ranges(source_mass.size(), crew, [this](std::size_t begin, std::size_t end) {
        std::fill(cells_of_source_.data() + begin, cells_of_source_.data() + end, Index{0});
    });
}

}  // namespace flatmetric
