/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Demangles C++, Rust (legacy and v0) and D symbol names with libiberty. Names come from hostile
 * files (I8), and a few hundred bytes can make libiberty print gigabytes or search for years. So
 * the result is bounded, and a name whose cost cannot be bounded stays mangled: it must not cost
 * the worker, and with it all other names of the binary.
 */
#pragma once

enum {
	DEMANGLE_INPUT_BYTES_MAX = 4096,
	DEMANGLE_OUTPUT_BYTES_MAX = 64 * 1024, /* with the NUL */
};

/*
 * Returns the demangled `symbol`, which the caller frees. Returns NULL if it is not mangled,
 * exceeds a bound, or memory is short; then the caller shows the symbol itself. Rust's hash suffix
 * is removed.
 *
 * D names stay mangled if they have more than 512 bytes or nest functions and templates deeply. If
 * memory for a D name is short, libiberty ends the process, because it has no callbacks for them.
 * Needs up to 4 MiB of stack.
 */
char *demangle(const char *symbol);
