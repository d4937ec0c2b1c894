/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognizes the instructions that fill the space between x86-64 functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the instruction without effect at the start of `code`; 0: none. */
size_t code_padding_length(const uint8_t *code, size_t size);

/* Are the bytes such instructions only? */
bool code_padding_is_all(const uint8_t *code, size_t size);
