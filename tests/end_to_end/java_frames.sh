#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The methods of a Java program without a flag that asks for them: interpreted, and compiled by both compilers, whose
# code keeps no frame pointers and contains the code of other methods.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

has_shares() {
	local method below=';Shares.work_\[j\];Shares.(heavy|light|tiny)_\[j\]'

	for method in heavy:60 light:30 tiny:10; do
		has_share "$1" "$below" "Shares.work_[j];Shares.${method%:*}_[j]" "${method#*:}" || return
	done
}

# Samples in burn() have all of their callers, up to the thread's start.
has_whole_chains() {
	awk '
	!/;Shares.burn_\[j\] / { next }
	{ all += $NF }
	/;Shares.main_\[j\];Shares.work_\[j\];Shares.(heavy|tiny)_\[j\];Shares.burn_\[j\] / && !/\[truncated/ { whole += $NF; next }
	/;Shares.main_\[j\];Shares.work_\[j\];Shares.light_\[j\];(Shares\$\$Lambda[^;]*.run_\[j\];)?Shares.lambda\$light\$0_\[j\];Shares.burn_\[j\] / && !/\[truncated/ { whole += $NF; next }
	{ print "# " $0 }
	END {
		printf "# %d of %d samples\n", whole, all
		exit !(all >= 100 && all - whole <= 2 + all / 100)
	}' "$1"
}

# The interpreter knows the bytecode, and the compilers what they have put where. Afterwards the lines are gone.
has_lines() {
	cp "$1" "$1.lines"
	sed -i 's/ (Shares.java:[0-9]*)//g' "$1"
	grep -q ";Shares.main (Shares.java:35)_\[j\];Shares.work (Shares.java:28)_\[j\];Shares.heavy (Shares.java:14)_\[j\];Shares.burn (Shares.java:[89])_\[j\]" "$1.lines"
}

# A virtual thread has the callers that are on the stack again, and those of its carrier, or all of them.
has_carriers() {
	awk '
	!/;Virtual.inner_\[j\];Virtual.burn_\[j\] / { next }
	{ all += $NF }
	/;java.util.concurrent.ForkJoinWorkerThread.run_\[j\];.*;jdk.internal.vm.Continuation.run_\[j\];/ && !/\[truncated/ { whole += $NF; next }
	{ print "# " $0 }
	END {
		printf "# %d of %d samples\n", whole, all
		exit !(all >= 100 && all - whole <= 2 + all / 50)
	}' "$1"
}

# same_traces FOLDED TRACES: the stacks of the calls of access() in probe() are those that the JVM told, with all lines.
# Its own traces leave out how lambdas are called. A sample that took more than 200 us, as on a CPU that the host took away,
# is cut before main().
same_traces() {
	awk '
	FNR == NR { is_trace[$0] = 1; next }
	!/;Traces.probe / { next }
	!/;Traces.main / { cut += $NF; next }
	{
		chain = substr($0, index($0, ";Traces.main "))
		sub(/;Traces.probe .*/, "", chain)
		gsub(/;[^;]*\$\$Lambda[^;]*/, "", chain)
		all += $NF
		if (chain in is_trace && !/\[truncated/)
			same += $NF
		else
			print "# " $0
	}
	END {
		printf "# %d of %d samples, %d cut\n", same, all, cut
		exit !(all >= 1000 && all - same <= 2 + all / 100 && cut <= all / 20)
	}' "$2" "$1"
}

# The first JVM that has virtual threads, since 21.
find_virtual() {
	for virtual in "$java" /usr/lib/jvm/*/bin/java; do
		! "$virtual" -cp "$tmp" Virtual 1 2>/dev/null || return 0
	done
	return 1
}

# It may not be the one whose libjvm.so has been described.
has_virtual_callers() {
	local idle=("$virtual" -cp "$tmp" Virtual 1000000000)

	first_recording() { record "$tmp/first.folded" -F 499 -- "$virtual" -cp "$tmp" Virtual $((300 * $1)); }
	is_read_after_recordings || return
	record "$tmp/virtual.folded" -F 999 -- "$virtual" -cp "$tmp" Virtual 2000 && has_carriers "$tmp/virtual.folded"
}

need_root
need_programs
java=${TEST_JAVA:-java}
need_commands "$java" javac
javac --release 8 -version >/dev/null 2>&1 || skip_all "needs a javac that compiles for Java 8"
javac --release 8 -Xlint:-options -d "$tmp" "$root"/tests/end_to_end/java_programs/{Shares,Traces,Virtual}.java || exit
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
program=(-cp "$tmp" Shares)
runtime=hotspot
idle=("$java" -cp "$tmp" Shares 1000000000)
first_recording() { record "$tmp/first.folded" -F 499 -- "$java" "${program[@]}" $((1000 * $1)); }
plan 14

check "before the first recording nobody has met HotSpot" is_runtime unseen 60
check "a recording makes the unwind table, with the description" is_read_after_recordings
record "$tmp/interpreted.folded" -F 1999 --lines -- "$java" -Xint "${program[@]}" 1000
check "lines of interpreted methods" has_lines "$tmp/interpreted.folded"
check "the shares of interpreted methods" has_shares "$tmp/interpreted.folded"
check "they have all callers" has_whole_chains "$tmp/interpreted.folded"
record "$tmp/traces.folded" --lines -e syscalls:sys_enter_access/period=1/ -- "$java" -cp "$tmp" Traces "$tmp/traces"
check "stacks are as the JVM tells them" same_traces "$tmp/traces.folded" "$tmp/traces"
record "$tmp/c1.folded" -F 1999 --lines -- "$java" -XX:TieredStopAtLevel=1 "${program[@]}" 15000
check "lines of what the first compiler has made" has_lines "$tmp/c1.folded"
check "its shares" has_shares "$tmp/c1.folded"
check "its callers" has_whole_chains "$tmp/c1.folded"
record "$tmp/c2.folded" -F 1999 --lines -- "$java" "${program[@]}" 30000
check "lines of what both compilers have made" has_lines "$tmp/c2.folded"
check "its shares" has_shares "$tmp/c2.folded"
check "all callers" has_whole_chains "$tmp/c2.folded"
# Then each method has a frame of its own.
record "$tmp/calls.folded" -F 1999 -- "$java" -XX:-Inline "${program[@]}" 5000
check "all callers if nothing is inlined" has_whole_chains "$tmp/calls.folded"
if find_virtual; then
	check "the callers of a virtual thread" has_virtual_callers
else
	skip "the callers of a virtual thread" "no JVM here has them"
fi
finish
