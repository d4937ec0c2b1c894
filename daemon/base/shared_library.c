/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_library.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static void close_library(void *library)
{
	(void)dlclose(library);
}
DEFINE_CLEANUP(void, close_library);

int shared_library_load(const char *soname, const char *package,
	const struct shared_library_function *functions, size_t count, struct fault *fault)
{
	_cleanup_(close_libraryp) void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	const char *remedy = package ? " (on Debian: apt-get install " : "";
	const char *end = package ? ")" : "";

	if (!package)
		package = "";
	if (!library)
		return fault_set(fault, -ELIBACC, "cannot load the library %s: %s%s%s%s", soname,
			dlerror(), remedy, package, end);
	for (size_t i = 0; i < count; i++)
		if (!dlsym(library, functions[i].name))
			return fault_set(fault, -ELIBBAD, "the library %s has no function %s%s%s%s",
				soname, functions[i].name, remedy, package, end);
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, functions[i].name);

		memcpy(functions[i].place, &function, sizeof(function));
	}
	(void)TAKE_PTR(library);
	return 0;
}
