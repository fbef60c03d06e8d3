#include "spots/psf.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace flatmetric {

namespace {

// The four coefficients around a place: the first of them, their weights, and the derivatives of these.
struct Taps {
    std::size_t first;
    double weight[4];
    double slope[4];

    // `count` is the number of places; those outside, and NaN, go to the edge.
    Taps(double at, std::size_t count) {
        const double last = static_cast<double>(count) - 2.0 - 1e-9;
        at = at > 1.0 ? std::min(at, last) : 1.0;
        const double whole = std::floor(at);
        first = static_cast<std::size_t>(whole) - 1;
        const double t = at - whole;
        const double s = 1.0 - t;
        weight[0] = s * s * s / 6.0;
        weight[1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0;
        weight[2] = (4.0 - 6.0 * s * s + 3.0 * s * s * s) / 6.0;
        weight[3] = t * t * t / 6.0;
        slope[0] = -s * s / 2.0;
        slope[1] = (3.0 * t - 4.0) * t / 2.0;
        slope[2] = (4.0 - 3.0 * s) * s / 2.0;
        slope[3] = t * t / 2.0;
    }
};

double dot(const double* weights, const double* values) {
    return weights[0] * values[0] + weights[1] * values[1] + weights[2] * values[2] + weights[3] * values[3];
}

}  // namespace

Column<double> spot_boxes(const SampledSpot& spot, const double* places, std::size_t count, std::size_t side,
                          bool slopes) {
    const std::size_t pixels = side * side;
    const std::size_t reach = (side - 1) * spot.per_pixel;  // samples from the first pixel to the last
    const std::size_t plane = spot.rows * spot.columns;
    Column<double> boxes(count * pixels * (slopes ? 4 : 1));
    std::vector<double> line(reach + 4);
    std::vector<double> line_slope(reach + 4);
    for (std::size_t k = 0; k < count; ++k) {
        const Taps z(places[3 * k], spot.planes);
        const Taps y(places[3 * k + 1], spot.rows - reach);
        const Taps x(places[3 * k + 2], spot.columns - reach);
        double* const value = boxes.data() + k * pixels * (slopes ? 4 : 1);
        double* const by_z = value + pixels;
        double* const by_y = by_z + pixels;
        double* const by_x = by_y + pixels;
        std::fill(value, value + pixels * (slopes ? 4 : 1), 0.0);
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < 4; ++j) {
                // One line of samples at the depth of the spot, and its derivative by z.
                const double* const from =
                    spot.coefficients + z.first * plane + (y.first + i * spot.per_pixel + j) * spot.columns + x.first;
                for (std::size_t c = 0; c < line.size(); ++c) {
                    const double four[4] = {from[c], from[c + plane], from[c + 2 * plane], from[c + 3 * plane]};
                    line[c] = dot(z.weight, four);
                    if (slopes) line_slope[c] = dot(z.slope, four);
                }
                for (std::size_t c = 0; c < side; ++c) {
                    const std::size_t pixel = i * side + c;
                    const double along = dot(x.weight, line.data() + c * spot.per_pixel);
                    value[pixel] += y.weight[j] * along;
                    if (!slopes) continue;
                    by_z[pixel] += y.weight[j] * dot(x.weight, line_slope.data() + c * spot.per_pixel);
                    by_y[pixel] += y.slope[j] * along;
                    by_x[pixel] += y.weight[j] * dot(x.slope, line.data() + c * spot.per_pixel);
                }
            }
        }
    }
    return boxes;
}

}  // namespace flatmetric
