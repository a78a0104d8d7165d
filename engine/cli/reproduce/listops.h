/* listops.h - nested operations on lists of digits, and their values (ListOps, Nangia and Bowman
 * 2018), drawn as Long Range Arena does (Tay et al. 2021).
 *
 * A character is a token: a digit; m, x, d or s, which begins the list whose minimum, maximum,
 * median (rounded down) or sum modulo 10 it stands for; ']', which ends that list. "x2m94]" is the
 * [MAX 2 [MIN 9 4 of the paper before its last ]. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    LISTOPS_DEPTH = 10,       /* of nested lists, with the digits in the innermost one */
    LISTOPS_LENGTH_MAX = 4096 /* longer ones are too rare to be drawn */
};

/* Draws an expression of fewer than `length` tokens (2 to LISTOPS_LENGTH_MAX) and more than a
 * quarter of that. Returns how many; `text` has room for `length`. */
size_t listops_draw(char *text, size_t length, uint64_t draw);

/* 0 to 9, of a whole expression. -1: it is none. */
int listops_value(const char *text, size_t bytes);
