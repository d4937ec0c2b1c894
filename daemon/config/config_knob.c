/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_knob.h"

#include "base/array.h"
#include "pilotlight/capture_message.h"

#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define TIB (1ULL << 40)

#define SECONDS(n) ((n)*1000000000ULL)
#define MINUTES(n) SECONDS((n)*60ULL)
#define HOURS(n)   MINUTES((n)*60ULL)
#define DAYS(n)	   HOURS((n)*24ULL)

/* A service samples for ever: what is shorter costs more than it tells. */
#define PERIOD_NS_MIN 100000ULL
#define PERIOD_NS_MAX SECONDS(1)

#define FIELD(name)	   offsetof(struct config, name)
#define SINK_FIELD(name)   offsetof(struct config_sink, name)
#define METRIC_FIELD(name) offsetof(struct config_metric, name)

const struct config_knob config_knobs[] = {
	{ "Sampling", "FrequencyHz", CONFIG_HZ, FIELD(frequency_hz), "99", 1, 10000, NULL,
		"Samples per second on each CPU. The service lowers it to stay within "
		"MaxCostPercent." },
	{ "Sampling", "KernelStacks", CONFIG_BOOLEAN, FIELD(kernel_stacks), "yes", 0, 0, NULL,
		"Record kernel stacks." },
	{ "Sampling", "Event", CONFIG_CHOICE, FIELD(event), "auto", 0, 0, "auto cycles cpu-clock",
		"Sampling event. auto uses cycles if the CPU counts them, else cpu-clock." },
	{ "Sampling", "MaxCostPercent", CONFIG_PERCENT, FIELD(max_cost_ppm), "0.15", 100, 1000000,
		NULL,
		"Limit of the service's CPU time, in percent of the machine. The frequency adapts "
		"to it." },

	{ "Sampling", "OffCpu", CONFIG_CHOICE, FIELD(off_cpu), "survey", 0, 0, "survey yes no",
		"Record where threads are blocked: survey visits all threads each SurveyPeriod, "
		"yes counts each wait." },
	{ "Sampling", "OffCpuPeriod", CONFIG_DURATION, FIELD(off_cpu_period_ns), "10ms",
		PERIOD_NS_MIN, PERIOD_NS_MAX, NULL,
		"With OffCpu=yes, the blocked time that one sample stands for. A shorter period "
		"costs more." },
	{ "Sampling", "RunQueue", CONFIG_CHOICE, FIELD(run_queue), "survey", 0, 0, "survey yes no",
		"Record which threads wait for a CPU, in the same ways." },
	{ "Sampling", "RunQueuePeriod", CONFIG_DURATION, FIELD(run_queue_period_ns), "10ms",
		PERIOD_NS_MIN, PERIOD_NS_MAX, NULL,
		"With RunQueue=yes, the waiting time that one sample stands for. A shorter period "
		"costs more." },
	{ "Sampling", "SurveyPeriod", CONFIG_DURATION, FIELD(survey_period_ns), "1s",
		PILOTLIGHT_CAPTURE_SURVEY_NS_MIN, PILOTLIGHT_CAPTURE_SURVEY_NS_MAX, NULL,
		"Time that a survey's samples stand for. On machines with many threads surveys are "
		"rarer, and samples stand for more." },
	{ "Sampling", "Faults", CONFIG_BOOLEAN, FIELD(faults), "no", 0, 0, NULL,
		"Record where page faults happen." },
	{ "Sampling", "FaultsPeriod", CONFIG_NUMBER, FIELD(faults_period), "211", 1, 1000000, NULL,
		"Page faults that one sample stands for. A shorter period costs more." },
	{ "Sampling", "KernelMemory", CONFIG_BOOLEAN, FIELD(kernel_memory), "no", 0, 0, NULL,
		"Record which code makes the kernel allocate memory, and what of it is not "
		"freed." },
	{ "Sampling", "KernelMemoryPeriod", CONFIG_BYTES, FIELD(kernel_memory_period), "1M", 4096,
		GIB, NULL,
		"Kernel memory that one sample stands for. A smaller period costs more." },

	{ "Sampling", "Events", CONFIG_EVENT_LIST, FIELD(events), "", 0, 0, NULL,
		"Record these events, too: names as in `pilotlight record -e`, separated by "
		"spaces." },
	{ "Sampling", "AllowEvents", CONFIG_EVENTS, FIELD(allow_events), "cheap", 0, 0, NULL,
		"Events that `pilotlight events enable` may turn on for a time: names, cheap, all "
		"or none." },
	{ "Sampling", "Include", CONFIG_CGROUPS, FIELD(include), "", 0, 0, NULL,
		"Record only these: unit:nginx.service, container:ID or cgroup:/PATH, separated by "
		"spaces. Empty: all." },
	{ "Sampling", "Exclude", CONFIG_CGROUPS, FIELD(exclude), "", 0, 0, NULL,
		"Never record these, written as in Include." },

	{ "Memory", "MaxBytes", CONFIG_BYTES, FIELD(max_bytes), "64M", 32 * MIB, TIB, NULL,
		"Limit of permanent memory, with BPF maps. If not set: a third of the unit's "
		"MemoryMax=." },
	{ "Memory", "JitBytes", CONFIG_BYTES, FIELD(jit_bytes), "16M", MIB, 64 * GIB, NULL,
		"Limit of the memory for names of JIT code, part of MaxBytes." },

	{ "History", "Enabled", CONFIG_BOOLEAN, FIELD(history_enabled), "yes", 0, 0, NULL,
		"Keep a history of profiles on disk." },
	{ "History", "Window", CONFIG_DURATION, FIELD(window_ns), "10s", SECONDS(1), MINUTES(1),
		NULL, "Length of one profile." },
	{ "History", "MaxBytes", CONFIG_BYTES, FIELD(history_bytes), "1G", 16 * MIB, 64 * TIB, NULL,
		"Limit of the history on disk. The oldest days are deleted first." },
	{ "History", "MaxAge", CONFIG_DURATION, FIELD(history_age_ns), "30d", DAYS(1), DAYS(3650),
		NULL, "Age at which profiles are deleted." },
	{ "History", "MinuteAfter", CONFIG_DURATION, FIELD(minute_after_ns), "2h", MINUTES(10),
		DAYS(3650), NULL, "Age at which windows are merged into one-minute windows." },
	{ "History", "TenMinutesAfter", CONFIG_DURATION, FIELD(ten_minutes_after_ns), "2d",
		HOURS(1), DAYS(3650), NULL,
		"Age at which one-minute windows are merged into ten-minute windows." },
	{ "History", "FineHistory", CONFIG_DURATION, FIELD(fine_history_ns), "24h", 0, DAYS(3650),
		NULL,
		"How long the time of each sample is kept, for heat maps and exact times. 0: not "
		"at all." },

	{ "Incidents", "CpuPressurePercent", CONFIG_NUMBER, FIELD(incident_cpu_pressure), "0", 0,
		100, NULL,
		"Note an incident when threads wait for a CPU in so many percent of ten seconds "
		"(/proc/pressure/cpu). 0: never." },
	{ "Incidents", "MemoryPressurePercent", CONFIG_NUMBER, FIELD(incident_memory_pressure), "0",
		0, 100, NULL, "The same for waiting for memory." },
	{ "Incidents", "IoPressurePercent", CONFIG_NUMBER, FIELD(incident_io_pressure), "0", 0, 100,
		NULL, "The same for waiting for I/O." },
	{ "Incidents", "HostCpuPercent", CONFIG_NUMBER, FIELD(incident_host_cpu), "0", 0, 100, NULL,
		"Note an incident when a window has so many percent of all CPU time. 0: never." },
	{ "Incidents", "RunQueuePercent", CONFIG_NUMBER, FIELD(incident_run_queue), "0", 0, 10000,
		NULL,
		"Note an incident when threads that wait for a CPU are so many percent of the "
		"CPUs, on average of a window. Needs RunQueue=yes. 0: never." },
	{ "Incidents", "UnitCpuPercent", CONFIG_NUMBER, FIELD(incident_unit_cpu), "0", 0, 1000000,
		NULL, "Note an incident when a unit takes so many percent of one CPU. 0: never." },
	{ "Incidents", "UnitCpuTimes", CONFIG_NUMBER, FIELD(incident_unit_cpu_times), "0", 0, 1000,
		NULL,
		"Note an incident when a unit takes so many times the CPU time that it took in the "
		"last hour. 0: never." },
	{ "Incidents", "ThrottledPercent", CONFIG_NUMBER, FIELD(incident_throttled), "0", 0, 100,
		NULL,
		"Note an incident when a cgroup is throttled in so many percent of its periods. 0: "
		"never." },
	{ "Incidents", "OomKill", CONFIG_BOOLEAN, FIELD(incident_oom_kill), "no", 0, 0, NULL,
		"Note an incident when the kernel kills a process for lack of memory." },
	{ "Incidents", "RaisedHz", CONFIG_NUMBER, FIELD(incident_hz), "0", 0, 10000, NULL,
		"Samples per second on each CPU after an incident, as far as MaxCostPercent "
		"allows. 0: no more than otherwise." },
	{ "Incidents", "RaiseFor", CONFIG_DURATION, FIELD(incident_raise_ns), "1min", SECONDS(1),
		MINUTES(10), NULL, "How long after an incident RaisedHz= holds." },
	{ "Incidents", "Keep", CONFIG_DURATION, FIELD(incident_keep_ns), "5min", SECONDS(10),
		HOURS(1), NULL, "Time before and after an incident whose windows are not merged." },
	{ "Incidents", "CoolDown", CONFIG_DURATION, FIELD(incident_cool_down_ns), "10min",
		SECONDS(1), DAYS(1), NULL, "Least time between two incidents by a threshold." },
	{ "Incidents", "PerDay", CONFIG_NUMBER, FIELD(incidents_per_day), "20", 1, 200, NULL,
		"Most incidents by thresholds in a day." },

	{ "Symbols", "CacheBytes", CONFIG_BYTES, FIELD(symbol_cache_bytes), "2G", 16 * MIB,
		64 * TIB, NULL,
		"Limit of the symbol cache on disk. The least recently used symbols are evicted." },
	{ "Symbols", "DebuginfodUrls", CONFIG_URLS, FIELD(debuginfod_urls), "", 0, 0, NULL,
		"Download debug information from these debuginfod servers, separated by spaces. "
		"Empty: none." },

	{ "Api", "Socket", CONFIG_SOCKET, FIELD(socket), "", 0, 0, NULL,
		"Unix socket for clients. Empty: api.sock in the runtime directory." },
	{ "Api", "Group", CONFIG_GROUP, FIELD(group), "pilotlight", 0, 0, NULL,
		"Group whose members may connect to the socket, besides root." },
	{ "Api", "SelfAccess", CONFIG_BOOLEAN, FIELD(self_access), "no", 0, 0, NULL,
		"Let all local users see profiles of their own processes. The socket needs mode "
		"0666." },
	{ "Api", "Listen", CONFIG_ADDRESSES, FIELD(listen), "", 0, 0, NULL,
		"TCP addresses to listen on, such as 127.0.0.1:7447. Without BearerTokenFile, "
		"anyone who can connect can read profiles." },
	{ "Api", "HostNames", CONFIG_HOSTS, FIELD(host_names), "", 0, 0, NULL,
		"Names by which TCP clients may address this host, separated by spaces. Addresses "
		"and localhost always work." },
	{ "Api", "BearerTokenFile", CONFIG_SECRET, FIELD(bearer_token_file), "", 0, 0, NULL,
		"File with the token that TCP clients must send: a path, or a systemd credential. "
		"Empty: none is needed." },
	{ "Api", "MaxConnections", CONFIG_NUMBER, FIELD(max_connections), "64", 1, 1024, NULL,
		"Maximum number of connections. One user may have half. An eighth is reserved for "
		"local users without one." },
};
const size_t config_knob_count = ARRAY_SIZE(config_knobs);

_Static_assert(ARRAY_SIZE(config_knobs) <= CONFIG_KNOBS_MAX, "each knob has its origin");

/* Interval at most: half of the shortest MinuteAfter, so that no batch meets merged windows. */
const struct config_knob config_sink_knobs[] = {
	{ "sink", "Type", CONFIG_CHOICE, SINK_FIELD(type), "pprof", 0, 0,
		"pprof otlp pyroscope parca clickhouse",
		"What receives the profiles. pprof: files in push/NAME of the state directory. "
		"otlp, pyroscope, parca, clickhouse: a server of OpenTelemetry, Pyroscope, Parca "
		"or "
		"ClickHouse, from that folder." },
	{ "sink", "Url", CONFIG_URL, SINK_FIELD(url), "", 0, 0, NULL,
		"Where to send them, such as https://collector:4318." },
	{ "sink", "Interval", CONFIG_DURATION, SINK_FIELD(interval_ns), "1min", SECONDS(1),
		MINUTES(5), NULL, "Time that one profile covers." },
	{ "sink", "NameWait", CONFIG_DURATION, SINK_FIELD(name_wait_ns), "30s", 0, MINUTES(2), NULL,
		"How long a profile may wait for names of its code." },
	{ "sink", "Labels", CONFIG_CHOICE, SINK_FIELD(labels), "all", 0, 0, "all service",
		"Labels of samples. service: unit, container and pod. all: threads and processes, "
		"too." },
	{ "sink", "MaxBytes", CONFIG_BYTES, SINK_FIELD(max_bytes), "256M", MIB, TIB, NULL,
		"Limit of the files. The oldest are deleted first." },
	{ "sink", "MaxAge", CONFIG_DURATION, SINK_FIELD(max_age_ns), "7d", HOURS(1), DAYS(3650),
		NULL, "Age at which files are deleted." },
	{ "sink", "SampleHosts", CONFIG_PERCENT, SINK_FIELD(sample_hosts_ppm), "100", 1, 1000000,
		NULL,
		"Share of the hosts with a sink of this name that push, drawn every ten minutes." },
	{ "sink", "Label", CONFIG_LABELS, SINK_FIELD(attributes), "", 0, 0, NULL,
		"Attributes of everything that is sent, such as deployment.environment=test, "
		"separated by spaces." },
	{ "sink", "Header", CONFIG_HEADERS, SINK_FIELD(headers), "", 0, 0, NULL,
		"A header of requests, such as X-Scope-OrgID: team. May be given several times." },
	{ "sink", "TokenFile", CONFIG_SECRET, SINK_FIELD(token_file), "", 0, 0, NULL,
		"File with the bearer token to send, or the password of clickhouse: a path, or a "
		"credential of pilotlight-send@.service. Empty: none." },
	{ "sink", "CaFile", CONFIG_SECRET, SINK_FIELD(ca_file), "", 0, 0, NULL,
		"File with the certificates to trust. Empty: those of the system." },
	{ "sink", "CertificateFile", CONFIG_SECRET, SINK_FIELD(certificate_file), "", 0, 0, NULL,
		"File with the client certificate to show. Empty: none." },
	{ "sink", "KeyFile", CONFIG_SECRET, SINK_FIELD(key_file), "", 0, 0, NULL,
		"File with the key of CertificateFile. Empty: none." },
	{ "sink", "Timeout", CONFIG_DURATION, SINK_FIELD(timeout_ns), "30s", SECONDS(1),
		MINUTES(10), NULL, "How long sending one profile may take." },
	{ "sink", "ProfilesVersion", CONFIG_NUMBER, SINK_FIELD(profiles_version), "1", 0, 1000,
		NULL,
		"OTLP-Profiles-Development-Version to send with otlp. 0: do not send the header." },
};
const size_t config_sink_knob_count = ARRAY_SIZE(config_sink_knobs);

_Static_assert(ARRAY_SIZE(config_sink_knobs) <= CONFIG_NAMED_KNOBS_MAX, "each has its origin");

const struct config_knob config_metric_knobs[] = {
	{ "metric", "Select", CONFIG_SELECT, METRIC_FIELD(select), "", 0, 0, NULL,
		"Whose CPU time: unit:nginx.service, comm:worker, container:ID, ..., separated by "
		"spaces. Empty: all." },
	{ "metric", "Function", CONFIG_PATTERN, METRIC_FIELD(function), "", 0, 0, NULL,
		"Names of functions, as a POSIX extended regular expression. Empty: all." },
	{ "metric", "Count", CONFIG_CHOICE, METRIC_FIELD(count), "total", 0, 0, "total self",
		"total: CPU time in the functions and in what they call. self: in the functions "
		"alone." },
	{ "metric", "By", CONFIG_CHOICE, METRIC_FIELD(by), "none", 0, 0, "none unit container comm",
		"A series for each unit, container or name of a thread." },
	{ "metric", "MaxSeries", CONFIG_NUMBER, METRIC_FIELD(series_max), "20", 1, 64, NULL,
		"Most series of By. Those that used the least CPU time are counted together." },
};
const size_t config_metric_knob_count = ARRAY_SIZE(config_metric_knobs);

_Static_assert(ARRAY_SIZE(config_metric_knobs) <= CONFIG_NAMED_KNOBS_MAX, "each has its origin");

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
	return knob->kind == CONFIG_ADDRESSES || knob->kind == CONFIG_HOSTS ||
	       knob->kind == CONFIG_URLS || knob->kind == CONFIG_CGROUPS ||
	       knob->kind == CONFIG_SELECT || knob->kind == CONFIG_HEADERS ||
	       knob->kind == CONFIG_LABELS || knob->kind == CONFIG_EVENT_LIST;
}

bool config_knob_is_line(const struct config_knob *knob)
{
	return knob->kind == CONFIG_HEADERS;
}
