/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_description.h"

#include "base/runtime_bounds.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int runtime_description_find(
	const struct symbol_file *file, const struct pilotlight_runtime **ret_runtime)
{
	const struct pilotlight_runtime *runtime =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_RUNTIME);

	if (!runtime)
		return -ENODATA;
	if (symbol_file_count(file, PILOTLIGHT_SYMBOL_RUNTIME) != 1)
		return -EBADMSG;
	if (runtime->version != PILOTLIGHT_RUNTIME_VERSION)
		return -EPROTONOSUPPORT;
	if (!runtime_bounds_hold(runtime))
		return -EBADMSG;
	*ret_runtime = runtime;
	return 0;
}

static const struct {
	const char *name, *word;
} languages[PILOTLIGHT_RUNTIME_LANGUAGES] = {
	{ "unknown", "unknown" },
	[PILOTLIGHT_RUNTIME_PYTHON] = { "Python", "python" },
	[PILOTLIGHT_RUNTIME_V8] = { "V8", "v8" },
	[PILOTLIGHT_RUNTIME_RUBY] = { "Ruby", "ruby" },
	[PILOTLIGHT_RUNTIME_HOTSPOT] = { "HotSpot", "hotspot" },
	[PILOTLIGHT_RUNTIME_PHP] = { "PHP", "php" },
	[PILOTLIGHT_RUNTIME_PERL] = { "Perl", "perl" },
	[PILOTLIGHT_RUNTIME_THREAD_CONTEXT] = { "OpenTelemetry", "thread-context" },
};

static uint8_t known_language(const struct pilotlight_runtime *runtime)
{
	return runtime->language < PILOTLIGHT_RUNTIME_LANGUAGES ? runtime->language : 0;
}

const char *runtime_description_language(const struct pilotlight_runtime *runtime)
{
	return languages[known_language(runtime)].name;
}

const char *runtime_description_word(const struct pilotlight_runtime *runtime)
{
	return languages[known_language(runtime)].word;
}

/* PY_VERSION_HEX: major, minor, micro; a digit for alpha, beta, candidate or final; serial. */
static void write_python_release(uint32_t release, char text[RUNTIME_RELEASE_BYTES])
{
	uint32_t level = release >> 4 & 0xf;
	const char *levels[16] = { [0xa] = "a", [0xb] = "b", [0xc] = "rc" };
	int length = snprintf(text, RUNTIME_RELEASE_BYTES, "%" PRIu32 ".%" PRIu32, release >> 24,
		release >> 16 & 0xff);

	if (level == 0)
		return;
	length += snprintf(text + length, RUNTIME_RELEASE_BYTES - (size_t)length, ".%" PRIu32,
		release >> 8 & 0xff);
	if (levels[level])
		(void)snprintf(text + length, RUNTIME_RELEASE_BYTES - (size_t)length, "%s%" PRIu32,
			levels[level], release & 0xf);
}

const char *runtime_description_release(
	const struct pilotlight_runtime *runtime, char text[RUNTIME_RELEASE_BYTES])
{
	uint32_t release = runtime->release;

	if (runtime->language == PILOTLIGHT_RUNTIME_V8)
		(void)snprintf(text, RUNTIME_RELEASE_BYTES, "%" PRIu32 ".%" PRIu32 ".%" PRIu32,
			release >> 24, release >> 16 & 0xff, release & 0xffff);
	else if (runtime->language == PILOTLIGHT_RUNTIME_RUBY ||
		 runtime->language == PILOTLIGHT_RUNTIME_PHP ||
		 runtime->language == PILOTLIGHT_RUNTIME_PERL)
		(void)snprintf(text, RUNTIME_RELEASE_BYTES, "%" PRIu32 ".%" PRIu32 ".%" PRIu32,
			release >> 24, release >> 16 & 0xff, release >> 8 & 0xff);
	else if (runtime->language == PILOTLIGHT_RUNTIME_HOTSPOT)
		(void)snprintf(text, RUNTIME_RELEASE_BYTES, "%" PRIu32, release);
	else
		write_python_release(release, text);
	return text;
}
