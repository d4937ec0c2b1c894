/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libiberty bounds neither its output nor its time. Its callbacks collect the output, and leave by
 * longjmp() at the bound, which also ends the work. D has no callbacks, so its names are judged
 * before.
 */
#include "extract/demangle.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <libiberty/demangle.h>

enum {
	STYLE = DMGL_PARAMS | DMGL_ANSI,
	/* Longer C++ names need an option that says that the stack is big enough. */
	SHORT_NAME_BYTES = 1024,
	D_NAME_BYTES_MAX = 512,
	D_TRIALS_MAX = 28, /* in halves: each two double the time */
};

typedef int demangler_function(
	const char *symbol, int options, demangle_callbackref collect, void *context);

struct demangled {
	char *bytes; /* owned */
	size_t size, capacity;
	bool is_rust;
	jmp_buf too_long;
};

static void demangled_done(struct demangled *demangled)
{
	free(demangled->bytes);
}

/*
 * libiberty holds memory across a callback in one case: a Rust identifier in Punycode, which
 * prints at least one byte beyond ASCII. The callback must return from there; other text follows
 * soon.
 */
static bool may_leave(const struct demangled *demangled, const char *text, size_t size)
{
	if (!demangled->is_rust)
		return true;
	for (size_t i = 0; i < size; i++)
		if (!isascii((unsigned char)text[i]))
			return false;
	return true;
}

static void collect(const char *text, size_t size, void *context)
{
	struct demangled *demangled = context;

	/* An empty identifier may be NULL. */
	if (size == 0)
		return;
	if (size >= DEMANGLE_OUTPUT_BYTES_MAX - demangled->size ||
		ARRAY_RESERVE(demangled->bytes, &demangled->capacity, demangled->size + size + 1,
			DEMANGLE_OUTPUT_BYTES_MAX) < 0) {
		if (may_leave(demangled, text, size))
			longjmp(demangled->too_long, 1);
		/* Full, so that the next text leaves. */
		demangled->size = DEMANGLE_OUTPUT_BYTES_MAX;
		return;
	}
	memcpy(demangled->bytes + demangled->size, text, size);
	demangled->size += size;
	demangled->bytes[demangled->size] = '\0';
}

/* A function of its own, so that the caller's locals survive the jump in any registers. */
static __attribute__((noinline)) bool fill(
	struct demangled *demangled, demangler_function *demangler, const char *symbol, int options)
{
	if (setjmp(demangled->too_long) != 0)
		return false;
	return demangler(symbol, options, collect, demangled) && demangled->size > 0 &&
	       demangled->size < DEMANGLE_OUTPUT_BYTES_MAX;
}

static char *demangle_with(demangler_function *demangler, const char *symbol, int options)
{
	_cleanup_(demangled_done) struct demangled demangled = {
		.is_rust = demangler == rust_demangle_callback,
	};

	return fill(&demangled, demangler, symbol, options) ? TAKE_PTR(demangled.bytes) : NULL;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		n++;
		text++;
	}
	return n;
}

/*
 * Possible types of nested functions are parsed as trials, the length of a template's symbol is
 * tried in several ways, and types refer back to others. Each multiplies the time of its
 * surroundings.
 */
static bool has_d_trials(const char *symbol)
{
	size_t n = 4 * (count(symbol, "__T") + count(symbol, "__U"));

	for (const char *c = symbol; *c; c++)
		if (strchr("FMRUVWY", *c))
			n += 2;
		else if (*c == 'Q')
			n++;
	return n > D_TRIALS_MAX;
}

static char *demangle_d(const char *symbol, size_t size)
{
	if (size > D_NAME_BYTES_MAX || has_d_trials(symbol))
		return NULL;
	return dlang_demangle(symbol, STYLE | DMGL_DLANG);
}

char *demangle(const char *symbol)
{
	size_t size = strnlen(symbol, DEMANGLE_INPUT_BYTES_MAX + 1);
	char *demangled;

	if (size < 3 || size > DEMANGLE_INPUT_BYTES_MAX || symbol[0] != '_')
		return NULL;
	switch (symbol[1]) {
	case 'R':
		return demangle_with(rust_demangle_callback, symbol, STYLE);
	case 'D':
		return demangle_d(symbol, size);
	case 'Z':
		/* Legacy Rust names are C++ names with a hash. */
		demangled = demangle_with(rust_demangle_callback, symbol, STYLE);
		if (demangled)
			return demangled;
		break;
	case 'G':
		break;
	default:
		return NULL;
	}
	return demangle_with(cplus_demangle_v3_callback, symbol,
		size > SHORT_NAME_BYTES ? STYLE | DMGL_NO_RECURSE_LIMIT : STYLE);
}
