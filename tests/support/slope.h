/* slope.h - whether a quantity grows: the slope of a line through its values. */
#pragma once

/* By least squares, per value; 0 for fewer than two values. */
static inline double slope_of(const double *values, int count)
{
    double mean = 0, products = 0, squares = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++) {
        double place = i - 0.5 * (count - 1);
        products += place * (values[i] - mean);
        squares += place * place;
    }
    return squares > 0 ? products / squares : 0;
}
