/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The short form of a long C++ or Rust name, where there is no room for the whole: without template
 * arguments and parameters. "std::vector<int, std::allocator<int> >::push_back(int const&)" becomes
 * "std::vector::push_back". The script of the flame graph has the same function.
 */
#pragma once

#include <stddef.h>

/* Shortens `name` in place and returns its length. What is no such name stays as it is. */
size_t short_name(char *name);
