/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_runtime.h"

#include "base/array.h"

#include <stdbool.h>
#include <string.h>

enum {
	/* The JVM's first names are stubs, which are no sign. */
	NAMES_LOOKED_AT = 4096,
	NAME_BYTES_LOOKED_AT = 1024,
	ERLANG_HINTS_NEEDED = 2,
};

static const char *const names[JITDUMP_RUNTIMES] = {
	[JITDUMP_RUNTIME_UNKNOWN] = "",
	[JITDUMP_RUNTIME_V8] = "V8",
	[JITDUMP_RUNTIME_ERLANG] = "Erlang",
	[JITDUMP_RUNTIME_PHP] = "PHP",
	[JITDUMP_RUNTIME_JVM] = "JVM",
	[JITDUMP_RUNTIME_LLVM] = "LLVM",
	[JITDUMP_RUNTIME_PYTHON] = "CPython",
	[JITDUMP_RUNTIME_DOTNET] = ".NET",
	[JITDUMP_RUNTIME_WASMTIME] = "Wasmtime",
};

const char *jitdump_runtime_name(enum jitdump_runtime runtime)
{
	return (unsigned)runtime < JITDUMP_RUNTIMES ? names[runtime] : "";
}

enum jitdump_runtime jitdump_runtime_of_path(const char *path)
{
	if (path && strstr(path, "/java-jit-"))
		return JITDUMP_RUNTIME_JVM;
	if (path && strstr(path, "/llvm-IR-jit-"))
		return JITDUMP_RUNTIME_LLVM;
	return JITDUMP_RUNTIME_UNKNOWN;
}

enum jitdump_runtime jitdump_runtime_of_header(const struct jitdump_header *header)
{
	return jitdump_is_v8(header) ? JITDUMP_RUNTIME_V8 : JITDUMP_RUNTIME_UNKNOWN;
}

static bool has_prefix(const char *name, size_t size, const char *prefix)
{
	const size_t prefix_size = strlen(prefix);

	return size >= prefix_size && memcmp(name, prefix, prefix_size) == 0;
}

static bool has_suffix(const char *name, size_t size, const char *suffix)
{
	const size_t suffix_size = strlen(suffix);

	return size >= suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0;
}

/* How many digits stand at `start`. */
static size_t count_digits(const char *name, size_t size, size_t start)
{
	size_t at = start;

	while (at < size && name[at] >= '0' && name[at] <= '9')
		at++;
	return at - start;
}

/* "TRACE-8$/srv/page.php$5" */
static bool is_php(const char *name, size_t size)
{
	size_t digits;

	if (has_prefix(name, size, "JIT$"))
		return true;
	if (!has_prefix(name, size, "TRACE-"))
		return false;
	digits = count_digits(name, size, 6);
	return digits > 0 && 6 + digits < size && name[6 + digits] == '$';
}

/* "Ljava/lang/String;charAt(I)C" */
static bool is_descriptor(const char *name, size_t size)
{
	const char *class_end, *open, *close;

	if (size < 6 || name[0] != 'L')
		return false;
	class_end = memchr(name, ';', size);
	if (!class_end || class_end == name + 1)
		return false;
	open = memchr(class_end, '(', size - (size_t)(class_end - name));
	if (!open || open == class_end + 1)
		return false;
	close = memchr(open, ')', size - (size_t)(open - name));
	return close && close + 1 < name + size && strchr("BCDFIJSZVL[", close[1]);
}

/* "wasm[0]::function[12]" */
static bool is_wasm(const char *name, size_t size)
{
	size_t digits;

	if (!has_prefix(name, size, "wasm["))
		return false;
	digits = count_digits(name, size, 5);
	return digits > 0 && has_prefix(name + 5 + digits, size - 5 - digits, "]::");
}

/* "int32 [app] Program::Fib(int32)[OptimizedTier1]" */
static bool is_dotnet(const char *name, size_t size)
{
	static const char *const tiers[] = { "[PreJIT]", "[Tier0]", "[Tier1]", "[OptimizedTier1]",
		"[OptimizedTier1OSR]", "[Optimized]", "[MinOptJitted]", "[QuickJitted]",
		"[InstrumentedTier0]", "[InstrumentedTier1]" };

	if (size == 0 || name[size - 1] != ']' || !memmem(name, size, "::", 2))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++)
		if (has_suffix(name, size, tiers[i]))
			return true;
	return false;
}

/* "module:function/2", or a fragment that all modules share. */
static bool hints_at_erlang(const char *name, size_t size)
{
	size_t at = size;

	if (has_prefix(name, size, "global::") || has_prefix(name, size, "$global::"))
		return true;
	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == size || at < 4 || name[at - 1] != '/' || size - at > 3)
		return false;
	return memchr(name + 1, ':', at - 2) && !memmem(name, size, "::", 2) &&
	       !memchr(name, ' ', at) && (const char *)memchr(name, '/', size) == name + at - 1;
}

void jitdump_runtime_look(struct jitdump_runtime_guess *guess, const struct jitdump_record *load)
{
	const char *name = load->load.name;
	const size_t size = load->load.name_size;

	if (guess->runtime != JITDUMP_RUNTIME_UNKNOWN || guess->looked >= NAMES_LOOKED_AT)
		return;
	guess->looked++;
	if (size > NAME_BYTES_LOOKED_AT)
		return;
	if (has_prefix(name, size, "py::"))
		guess->runtime = JITDUMP_RUNTIME_PYTHON;
	else if (is_php(name, size))
		guess->runtime = JITDUMP_RUNTIME_PHP;
	else if (is_wasm(name, size))
		guess->runtime = JITDUMP_RUNTIME_WASMTIME;
	else if (is_descriptor(name, size))
		guess->runtime = JITDUMP_RUNTIME_JVM;
	else if (is_dotnet(name, size))
		guess->runtime = JITDUMP_RUNTIME_DOTNET;
	else if (has_suffix(name, size, "-CodeInfoPrologue"))
		guess->runtime = JITDUMP_RUNTIME_ERLANG;
	else if (hints_at_erlang(name, size) && ++guess->erlang_hints >= ERLANG_HINTS_NEEDED)
		guess->runtime = JITDUMP_RUNTIME_ERLANG;
	else if (load->load.vma == 0 && load->load.address != 0 && load->load.size != 0)
		guess->runtime = JITDUMP_RUNTIME_LLVM;
}
