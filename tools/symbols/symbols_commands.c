/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_commands.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRESS_PERIOD_NS ((uint64_t)NSEC_PER_SEC)

const struct option_row symbols_cache_option[] = {
	{ 0, "cache", "DIR",
		"The symbol cache ($PILOTLIGHT_SYMBOL_CACHE, or pilotlight in the user's cache "
		"folder).",
		OPTION_STRING, .offset = offsetof(struct symbols_invocation, directory) },
	{ 0 },
};

int symbols_open_folder(const char *directory, uint64_t bytes_max, bool is_made,
	struct symbol_cache **ret_cache, struct fault *fault)
{
	struct stat status;
	int r;

	if (!is_made && stat(directory, &status) < 0 && errno == ENOENT)
		return -ENOENT;
	r = symbol_cache_open(directory, bytes_max, ret_cache, fault);
	if (r < 0)
		return fault_set(
			fault, r, "cannot open the symbol cache '%s': %s", directory, strerror(-r));
	return 0;
}

int symbols_open_cache(const struct symbols_invocation *invocation, uint64_t bytes_max,
	bool is_made, struct symbol_cache **ret_cache, struct fault *fault)
{
	_cleanup_free_ char *default_directory = NULL;
	const char *directory = invocation->directory;
	int r;

	if (!directory) {
		r = symbol_cache_default_directory(&default_directory);
		if (r == -ENOENT)
			return fault_set(fault, -ENOTDIR,
				"there is no home folder to keep symbols in; name one by --cache "
				"or $PILOTLIGHT_SYMBOL_CACHE");
		if (r < 0)
			return fault_set(
				fault, r, "cannot find the symbol cache: %s", strerror(-r));
		directory = default_directory;
	}
	return symbols_open_folder(directory, bytes_max, is_made, ret_cache, fault);
}

/* `cache` NULL: it is empty. */
static int open_file(struct symbol_cache *cache, const char *text, struct symbol_file **ret_file,
	struct fault *fault)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	char hex[SYMBOL_IDENTITY_TEXT_BYTES];
	struct symbol_identity identity;
	enum pilotlight_symbol_failure failure;
	int r;

	r = symbols_argument_find(cache, text, &identity, fault);
	if (r < 0)
		return r;
	(void)symbol_identity_format(&identity, hex);
	r = cache ? symbol_cache_find(cache, &identity, &file) : -ENOENT;
	if (r == -ENOENT)
		return fault_set(fault, r,
			"there are no symbols of '%s' (%s); add them with `pilotlight symbols add "
			"FILE`",
			text, hex);
	if (r < 0)
		return fault_set(fault, r, "cannot read the symbols of %s: %s", hex, strerror(-r));
	if (symbol_file_header(file)->rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
		failure = symbol_file_header(file)->failure;
		return fault_set(fault, -ENODATA, "there are no symbols of %s: %s; %s", hex,
			symbols_text_failure(failure), symbols_text_remedy(failure));
	}
	*ret_file = TAKE_PTR(file);
	return 0;
}

int symbols_open(const struct symbols_invocation *invocation, const char *text,
	struct symbol_cache **ret_cache, struct symbol_file **ret_file, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r;

	r = symbols_open_cache(invocation, SYMBOL_CACHE_BYTES_DEFAULT, false, &cache, fault);
	if (r == 0 || r == -ENOENT)
		r = open_file(cache, text, ret_file, fault);
	if (r == 0)
		*ret_cache = TAKE_PTR(cache);
	return r;
}

void symbols_progress_init(struct symbols_progress *progress)
{
	*progress = (struct symbols_progress){
		.next_ns = isatty(STDERR_FILENO) ? clock_monotonic_ns() + PROGRESS_PERIOD_NS
						 : UINT64_MAX,
	};
}

bool symbols_progress_is_due(struct symbols_progress *progress)
{
	uint64_t now_ns;

	if (progress->next_ns == UINT64_MAX)
		return false;
	now_ns = clock_monotonic_ns();
	if (now_ns < progress->next_ns)
		return false;
	progress->next_ns = now_ns + PROGRESS_PERIOD_NS;
	return true;
}

void symbols_progress_show(struct symbols_progress *progress, const char *format, ...)
{
	va_list arguments;

	progress->is_shown = true;
	(void)fputc('\r', stderr);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fputs("\033[K", stderr);
}

void symbols_progress_clear(struct symbols_progress *progress)
{
	if (progress->is_shown)
		(void)fputs("\r\033[K", stderr);
	progress->is_shown = false;
}
