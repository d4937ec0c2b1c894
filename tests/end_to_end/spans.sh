#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples have the trace and the span that their thread works on, in programs that publish OpenTelemetry's thread context
# and change it a million times a second. The variable is in the program, or in a library with each model of
# thread-local storage. Records that are wrong give nothing. The service tells what the program claims, whose context
# is written all the time.
# Runs beside others: it judges the labels of samples, not their number.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

LEAST=10 # samples, of some 1,000 if the CPUs are free

# begin THREADS COMMAND...: sets pid. So many threads have begun beside the first. They leave time to the profiler.
begin() {
	local threads=$1

	shift
	start nice "$@"
	pid=${started[-1]}
	wait_for 60 eval '[ "$(ls /proc/'"$pid"'/task | wc -l)" -gt '"$threads"' ]'
}

end() {
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	return 0
}

# judge NAME: records the program, and says how many samples of its functions have their ids, others, or none.
judge() {
	record "$tmp/$1.pb.gz" -F 999 -d 1 -p "$pid" &&
		python3 "$root/tests/end_to_end/spans.py" "$tmp/$1.pb.gz" >"$tmp/$1.judged" || return
	note "$1: $(cat "$tmp/$1.judged")"
	read -r _ right _ wrong _ without _ <"$tmp/$1.judged"
}

# repeat NAME CONDITION: repeats the record until the condition holds. No record may have a wrong id.
repeat() {
	local until=$((SECONDS + 60))

	while judge "$1" && [ "$wrong" = 0 ]; do
		! (($2)) || return 0
		[ $SECONDS -lt $until ] || return
	done
	return 1
}

# Those without are as good as none. On a busy machine the variable is found only after a while.
has_right_spans() {
	begin 3 "${@:2}" && repeat "$1" "right >= LEAST && without * 1000 <= right" && end
}

# library MODEL [OPTION]...
build_library() {
	gcc -std=gnu17 -O1 -g -fno-omit-frame-pointer -D_GNU_SOURCE -DSPANS_LIBRARY -fPIC -shared -iquote "$root/include" \
		"${@:2}" "$root/tests/workloads/spans.c" -o "$tmp/lib$1.so" -lpthread
}

build() {
	echo 'int spans_main(int, char **); int main(int c, char **v) { return spans_main(c, v); }' >"$tmp/linked.c"
	cat >"$tmp/loader.c" <<'END'
#include <dlfcn.h>
int main(int count, char **values)
{
	void *library = dlopen(values[1], RTLD_NOW);
	int (*run)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "spans_main") : 0;
	return run ? run(count - 1, values + 1) : 1;
}
END
	build_library descriptor -mtls-dialect=gnu2 && build_library index -mtls-dialect=gnu &&
		build_library slot -ftls-model=initial-exec && gcc "$tmp/loader.c" -o "$tmp/loader" -ldl || return
	gcc "$tmp/linked.c" -o "$tmp/linked" -L"$tmp" -lslot -Wl,-rpath,"$tmp"
}

# has_anchor FILE WORD
has_anchor() {
	"$pilotlight" symbols show "$1" >"$tmp/shown" && grep -qx "context    of OpenTelemetry, threads by $2" "$tmp/shown" &&
		return
	note "$(cat "$tmp/shown")"
	return 1
}

gives_nothing() {
	begin 2 "$workloads/spans" lie 1e9 && repeat lie "without >= LEAST" && [ "$right" = 0 ] && end
}

selected() {
	record "$tmp/trace.folded" -F 999 -d 1 -p "$pid" --trace "$(printf '10%.0s' {1..16})" &&
		record "$tmp/span.folded" -F 999 -d 1 -p "$pid" --span "$(printf '22%.0s' {1..8})" &&
		grep -q '^swap;.*;in_first' "$tmp/trace.folded" && grep -q '^swap;.*;in_second' "$tmp/trace.folded" &&
		grep -q '^write;.*;in_second' "$tmp/span.folded"
}

# Of the trace of one thread, and of one span of it.
selects() {
	begin 3 "$workloads/spans" change 1e9 && wait_for 60 selected && end &&
		! grep -q '^write' "$tmp/trace.folded" && ! grep -q '^swap\|in_first' "$tmp/span.folded" && return
	note "$(head -n 5 "$tmp/trace.folded" "$tmp/span.folded")"
	return 1
}

# Prints who has samples of a thread's trace in the history.
history_of() {
	"$pilotlight" export --last 1min --trace "$(printf "$1%.0s" {1..16})" -f folded -o "$tmp/history.folded" 2>/dev/null &&
		grep -q '^swap;.*;in_first\|^write;.*;in_first' "$tmp/history.folded"
}

# The service's history has the trace of one thread, and nothing of the other.
is_in_history() {
	printf '[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	start_service || return
	begin 3 "$workloads/spans" change 1e9 || return
	wait_for 90 history_of 10 || return
	note "$(wc -l <"$tmp/history.folded") stacks"
	grep -q '^swap;.*;in_second' "$tmp/history.folded" && ! grep -q '^write' "$tmp/history.folded" && ! history_of 30
}

# Another name is refused with a hint.
is_selected_by_claims() {
	if ! wait_for 120 eval '"$pilotlight" export --last 1min --service spans -f folded -o "$tmp/claims.folded" 2>/dev/null &&
		grep -q ";in_first" "$tmp/claims.folded"'; then
		note "$("$pilotlight" status --json | grep -Eo '"(contexts|broker)[a-z_]*":[^,]*' | tr '\n' ' ')"
		tail -n 20 "$tmp/service.log" | sed 's/^/# /'
		return 1
	fi
	! "$pilotlight" export --last 1min --service span -f folded -o "$tmp/none.folded" 2>"$tmp/none.txt" &&
		grep -q 'there is.* spans' "$tmp/none.txt"
}

# What a sink gets is made in the same way.
is_in_exports() {
	"$pilotlight" export --last 1min -f pprof -o "$tmp/history.pb.gz" &&
		python3 "$root/tests/end_to_end/spans.py" "$tmp/history.pb.gz" >"$tmp/history.judged" || return
	note "$(cat "$tmp/history.judged")"
	read -r _ right _ wrong _ _ _ claimed <"$tmp/history.judged"
	((right > 0 && claimed > 0 && wrong == 0)) && "$pilotlight" export --last 1min -f otlp -o "$tmp/history.otlp.gz" &&
		gzip -dc "$tmp/history.otlp.gz" | grep -qaP '\x10{16}\x12\x08\x11{8}' && end
}

need_root
need_programs
need_service
need_commands gcc python3
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
build >"$tmp/build.log" 2>&1 || { note "$(cat "$tmp/build.log")"; echo "Bail out! the libraries cannot be built"; exit 1; }
plan 14
check "of a program" has_right_spans program "$workloads/spans" change 1e9
check "... whose variable is at a distance from the thread pointer" has_anchor "$workloads/spans" tls
check "records that are wrong give nothing" gives_nothing
check "record keeps one trace, or one span" selects
check "of a library that is linked" has_right_spans linked "$tmp/linked" change 1e9
check "... by a slot with the distance" has_anchor "$tmp/libslot.so" tls-slot
check "of a library that is loaded, by an index" has_right_spans index "$tmp/loader" "$tmp/libindex.so" change 1e9
check "... which the symbol file tells" has_anchor "$tmp/libindex.so" tls-index
check "of one that is loaded, by a descriptor" has_right_spans descriptor "$tmp/loader" "$tmp/libdescriptor.so" change 1e9
check "... which the symbol file tells" has_anchor "$tmp/libdescriptor.so" tls-descriptor
check "the history has them, too" is_in_history
check "... and selects by what is claimed" is_selected_by_claims
check "... and so have its pprof and OpenTelemetry's format" is_in_exports
check "... and the service stops" stop_service
finish
