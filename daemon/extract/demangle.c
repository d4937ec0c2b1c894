/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libiberty bounds its recursion, but neither its output nor its time. Its callbacks collect the
 * output, and leave by longjmp() at the bound, which also ends the work. Searches that print
 * nothing meanwhile are recognized by letters that they need. The same letters in an identifier
 * keep an innocent name mangled now and then, but every costly name is caught.
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
	/* Beyond it libiberty refuses C++ names unless an option says that the stack is big enough.
	 */
	SHORT_NAME_BYTES = 1024,
	/* n back references can make a name e^(n/e) parts long: a million for 37. */
	BACK_REFERENCES_MAX = 37,
	TEMPLATE_PARAMETER_TRIALS_MAX = 12,
	SAVED_TEMPLATES_MAX = 32 * 1024,
	LIFETIME_DIGITS_MAX = 2,
	CRATE_HASH_DIGITS_MIN = 8, /* of 64 bits, to the base of 62 */
	CRATE_HASH_DIGITS_MAX = 11,
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

/* Counts S_, S0_ and so on, each of which repeats an earlier part of the name. */
static size_t count_back_references(const char *symbol)
{
	bool is_reference = false;
	size_t n = 0;

	for (const char *c = symbol; *c; c++)
		if (*c == '_') {
			n += is_reference;
			is_reference = false;
		} else if (*c == 'S') {
			is_reference = true;
		} else if (!isupper((unsigned char)*c) && !isdigit((unsigned char)*c)) {
			is_reference = false;
		}
	return n;
}

/*
 * Each T_I in the type of a conversion is parsed as a trial and then again: twice the time for
 * each level.
 */
static bool has_nested_trials(const char *symbol)
{
	size_t n = 0;

	if (!strstr(symbol, "cv"))
		return false;
	for (const char *c = symbol; (c = strchr(c, 'T'));) {
		c++;
		c += strspn(c, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (*c != '_')
			continue;
		c += strspn(c, "_");
		n += *c == 'I';
	}
	return n > TEMPLATE_PARAMETER_TRIALS_MAX;
}

static bool is_plain_parameter(const char *type)
{
	type += strspn(type, "PROKV");
	if (*type++ != 'T')
		return false;
	type += strspn(type, "0123456789");
	return *type == '_';
}

/*
 * The search for the parameter pack of an expansion visits everything that is expanded, and shared
 * parts once for each reference.
 */
static bool has_deep_expansion(const char *symbol)
{
	bool has_expression = strchr(symbol, 'X') || strchr(symbol, 'A') || strstr(symbol, "DT") ||
			      strstr(symbol, "Dt") || strstr(symbol, "DO") || strstr(symbol, "Dv");
	bool is_deep = has_expression &&
		       (strstr(symbol, "sp") || strstr(symbol, "sZ") || strstr(symbol, "sP"));

	for (const char *c = symbol; !is_deep && (c = strstr(c, "Dp"));) {
		c += 2;
		is_deep = !is_plain_parameter(c);
	}
	return is_deep && count_back_references(symbol) > BACK_REFERENCES_MAX;
}

static char *demangle_cplus(const char *symbol, size_t size)
{
	int options = STYLE;

	if (has_nested_trials(symbol) || has_deep_expansion(symbol))
		return NULL;
	if (size > SHORT_NAME_BYTES) {
		size_t references = count(symbol, "RT") + count(symbol, "OT");

		/* For each of these references libiberty has each template on its stack. */
		if (references > 0 && count(symbol, "I") > SAVED_TEMPLATES_MAX / references)
			return NULL;
		options |= DMGL_NO_RECURSE_LIMIT;
	}
	return demangle_with(cplus_demangle_v3_callback, symbol, options);
}

/*
 * A type that binds billions of lifetimes (FG…_, DG…_) makes libiberty count them one by one. The
 * hash of a crate (Cs…_) may contain the same letters; it is not printed, so they can be replaced
 * there. Returns false if they are elsewhere.
 */
static bool replace_lifetimes(char *symbol)
{
	size_t crate = 0;

	for (size_t i = 2; symbol[i]; i++) {
		size_t digits = 0;

		if (symbol[i] == 's' && symbol[i - 1] == 'C')
			crate = i;
		else if (symbol[i] == '_')
			crate = 0;
		if (symbol[i] != 'G' || (symbol[i - 1] != 'F' && symbol[i - 1] != 'D'))
			continue;
		while (isalnum((unsigned char)symbol[i + 1 + digits]))
			digits++;
		if (digits <= LIFETIME_DIGITS_MAX || symbol[i + 1 + digits] != '_')
			continue;
		if (crate == 0 || i + digits - crate < CRATE_HASH_DIGITS_MIN ||
			i + digits - crate > CRATE_HASH_DIGITS_MAX)
			return false;
		symbol[i] = '0';
	}
	return true;
}

static char *demangle_rust(const char *symbol, size_t size)
{
	char harmless[DEMANGLE_INPUT_BYTES_MAX + 1];

	memcpy(harmless, symbol, size + 1);
	if (!replace_lifetimes(harmless))
		return NULL;
	return demangle_with(rust_demangle_callback, harmless, STYLE);
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
		return demangle_rust(symbol, size);
	case 'D':
		return demangle_d(symbol, size);
	case 'Z':
		/* Legacy Rust names are C++ names with a hash. */
		demangled = demangle_with(rust_demangle_callback, symbol, STYLE);
		return demangled ? demangled : demangle_cplus(symbol, size);
	case 'G':
		return demangle_cplus(symbol, size);
	default:
		return NULL;
	}
}
