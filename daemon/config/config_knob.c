/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_knob.h"

#include "base/array.h"

#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define TIB (1ULL << 40)

#define SECONDS(n) ((n)*1000000000ULL)
#define MINUTES(n) SECONDS((n)*60ULL)
#define HOURS(n)   MINUTES((n)*60ULL)
#define DAYS(n)	   HOURS((n)*24ULL)

#define FIELD(name) offsetof(struct config, name)

const struct config_knob config_knobs[] = {
	{ "Sampling", "FrequencyHz", CONFIG_HZ, FIELD(frequency_hz), "99", 1, 10000, NULL,
		"Samples a second on each CPU; fewer while they would cost more than "
		"MaxCostPercent." },
	{ "Sampling", "KernelStacks", CONFIG_BOOLEAN, FIELD(kernel_stacks), "yes", 0, 0, NULL,
		"Whether stacks go on into the kernel." },
	{ "Sampling", "Event", CONFIG_CHOICE, FIELD(event), "auto", 0, 0, "auto cycles cpu-clock",
		"What drives the sampler: cycles where the CPU counts them (auto), or one of the "
		"two." },
	{ "Sampling", "MaxCostPercent", CONFIG_PERCENT, FIELD(max_cost_ppm), "0.15", 100, 1000000,
		NULL, "Of all CPU time, what the service is to use; the frequency follows." },

	{ "Memory", "MaxBytes", CONFIG_BYTES, FIELD(max_bytes), "64M", 32 * MIB, TIB, NULL,
		"Memory in use all the time, BPF maps included; a third of the unit's MemoryMax= "
		"if not set." },
	{ "Memory", "JitBytes", CONFIG_BYTES, FIELD(jit_bytes), "16M", MIB, 64 * GIB, NULL,
		"The part of it that names of generated code may take." },

	{ "History", "Enabled", CONFIG_BOOLEAN, FIELD(history_enabled), "yes", 0, 0, NULL,
		"Whether profiles are kept on disk." },
	{ "History", "Window", CONFIG_DURATION, FIELD(window_ns), "10s", SECONDS(1), MINUTES(1),
		NULL, "How long a profile is; the finest step in which time can be selected." },
	{ "History", "MaxBytes", CONFIG_BYTES, FIELD(history_bytes), "1G", 16 * MIB, 64 * TIB, NULL,
		"What the history may take on disk; the oldest days make room." },
	{ "History", "MaxAge", CONFIG_DURATION, FIELD(history_age_ns), "30d", DAYS(1), DAYS(3650),
		NULL, "How long profiles are kept." },
	{ "History", "MinuteAfter", CONFIG_DURATION, FIELD(minute_after_ns), "2h", MINUTES(10),
		DAYS(3650), NULL, "The age at which windows are merged into ones of a minute." },
	{ "History", "TenMinutesAfter", CONFIG_DURATION, FIELD(ten_minutes_after_ns), "2d",
		HOURS(1), DAYS(3650), NULL,
		"The age at which those are merged into ones of ten minutes." },

	{ "Symbols", "CacheBytes", CONFIG_BYTES, FIELD(symbol_cache_bytes), "2G", 16 * MIB,
		64 * TIB, NULL, "What symbols may take on disk; the least used make room." },
	{ "Symbols", "DebuginfodUrls", CONFIG_URLS, FIELD(debuginfod_urls), "", 0, 0, NULL,
		"Servers to ask for debug information, separated by blanks; empty: none." },

	{ "Api", "Socket", CONFIG_SOCKET, FIELD(socket), "", 0, 0, NULL,
		"Where the command reaches the service; empty: api.sock in the runtime "
		"directory." },
	{ "Api", "Group", CONFIG_GROUP, FIELD(group), "pilotlight", 0, 0, NULL,
		"Whose members may, besides root." },
	{ "Api", "Listen", CONFIG_ADDRESSES, FIELD(listen), "", 0, 0, NULL,
		"Addresses to listen on by TCP, such as 127.0.0.1:7447. Whoever reaches them may: "
		"it "
		"asks for no password." },
	{ "Api", "MaxConnections", CONFIG_NUMBER, FIELD(max_connections), "64", 1, 1024, NULL,
		"Clients at one time; one user has half of them at most, and the last eighth is "
		"for those of this host who have none." },
};
const size_t config_knob_count = ARRAY_SIZE(config_knobs);

_Static_assert(ARRAY_SIZE(config_knobs) <= CONFIG_KNOBS_MAX, "each knob has its origin");

size_t config_knob_find(const char *section, const char *key)
{
	size_t i;

	for (i = 0; i < config_knob_count; i++)
		if (strcmp(config_knobs[i].section, section) == 0 &&
			strcmp(config_knobs[i].key, key) == 0)
			break;
	return i;
}

bool config_knob_is_list(const struct config_knob *knob)
{
	return knob->kind == CONFIG_ADDRESSES || knob->kind == CONFIG_URLS;
}
