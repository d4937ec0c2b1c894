#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Go programs have whole stacks and names: stripped or not, position-independent or not, with cgo, linked by gcc or
# by Go. Their call chains follow from their sources (go_programs/). GO selects a compiler other than Debian's.
# Runs beside others: it judges names and stacks of its own programs, of samples however few.
. "$(dirname "$0")/lib.sh"

programs=$root/tests/end_to_end/go_programs
go=${GO:-/usr/bin/go}
length=600s

# compile NAME SOURCE OPTION...
compile() {
	local name=$1 source=$2

	shift 2
	env -u GOROOT GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local GOCACHE="$tmp/go-cache" GOPATH="$tmp/go-path" \
		"$go" build -o "$tmp/$name" "$@" "$programs/$source" 2>"$tmp/$name.log" && return
	note "$(cat "$tmp/$name.log")"
	return 1
}

# record_one NAME: records the program once its table can be made. Ends it.
record_one() {
	local status

	"$tmp/$1" "$length" &
	started+=($!)
	wait_beside $! grep -q "$tmp/$1" "/proc/$!/maps"
	record "$tmp/$1.folded" -F 1999 -p $! -d 2
	status=$?
	stop_started
	return $status
}

# share FILE COUNTED [OF]: the percentage of stacks (of those that match OF) that match a regular expression.
share() {
	awk -v pattern="$2" -v of="${3:-}" '
	$0 ~ of { all += $NF }
	$0 ~ of && $0 ~ pattern { part += $NF }
	END { printf "%.2f\n", all ? 100 * part / all : 0 }' "$1"
}

# Samples that the kernel walked, because a table was not ready, are no matter of this test.
are_whole() {
	local cut

	grep -v 'no unwind table' "$tmp/$1.folded" >"$tmp/$1.walked"
	cut=$(share "$tmp/$1.walked" '\\[truncated: ')
	note "$1: $(folded_total "$tmp/$1.walked") samples, $cut % cut; $(grep '^stacks' "$tmp/$1.folded.log")"
	[ "$(folded_total "$tmp/$1.walked")" -gt 100 ] && at_least 0.5 "$cut"
}

# Only C functions of stripped programs lack names.
have_names() {
	local unnamed

	unnamed=$(share "$tmp/$1.walked" "\\\\[$1\\\\+0x")
	note "$1: $unnamed % of the stacks have frames without a name"
	at_least 0.5 "$unnamed"
}

# has_chain NAME LEAF CHAIN: nearly all stacks with the leaf have exactly this chain from the root to it. Signals,
# preemption and interrupts may follow.
has_chain() {
	local found

	found=$(share "$tmp/$1.walked" "^[^;]*;$3(;| )" ";$2(;| )")
	note "$1: $found % of the stacks with $2 are $3"
	at_least "$found" 99.5 && return
	note "$(head -n 5 "$tmp/$1.walked")"
	return 1
}

abi='(.abi0)?'
to_c="runtime.goexit$abi;runtime.main;main.main;main.outer;main.inner;main._Cfunc_burn$abi;(runtime.cgocall;)?"
to_c+="runtime.asmcgocall$abi;_cgo_[0-9a-f]+_Cfunc_burn;burn"
to_go="runtime.goexit$abi;runtime.main;main.main;main.through;main._Cfunc_call_back$abi;(runtime.cgocall;)?"
to_go+="runtime.asmcgocall$abi;_cgo_[0-9a-f]+_Cfunc_call_back;call_back;goWork;crosscall2;"
to_go+="runtime.cgocallback$abi;(runtime.cgocallbackg$abi;)+runtime.cgocallbackg1;_cgoexp_[0-9a-f]+_goWork;"
to_go+="(main.goWork(_\\\\[i\\\\])?;)?main.work"
spin='main.spin\\[[^;]*\\]'
to_leaf="runtime.goexit$abi;main.main.func1;main.leaf;$spin"

# Checks of a program without C.
check_plain() {
	local name=$1

	shift
	check "plain: $name compiles" compile "$name" plain.go "$@"
	check "plain: $name is recorded" record_one "$name"
	check "plain: stacks of $name are whole" are_whole "$name"
	check "plain: all functions of $name have names" have_names "$name"
	check "plain: $name has the chain of its source" has_chain "$name" "$spin" "$to_leaf"
}

# Checks of a program that calls C, which calls Go.
check_cgo() {
	local name=$1

	shift
	check "cgo: $name compiles" compile "$name" calls.go "$@"
	check "cgo: $name is recorded" record_one "$name"
	check "cgo: stacks of $name are whole" are_whole "$name"
	check "cgo: $name has the chain from Go to C" has_chain "$name" burn "$to_c"
	check "cgo: $name has the chain from Go through C to Go" has_chain "$name" main.work "$to_go"
}

names_agree() {
	"$pilotlight" symbols add --cache "$tmp/cache" "$tmp/whole" "$tmp/stripped" >"$tmp/added" || return
	python3 "$programs/agree.py" "$pilotlight" "$tmp/cache" "$tmp/whole" "$tmp/stripped" "$go" >"$tmp/agreed"
	local status=$?

	note "$(cat "$tmp/agreed")"
	return $status
}

need_root
need_programs
need_commands "$go" gcc python3
[ "$(uname -m)" = x86_64 ] || skip_all "the tables are for x86-64"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/symbols

plan 36
check_plain whole
check_plain stripped -ldflags '-s -w'
check_plain pie -buildmode=pie -ldflags '-s -w'
check "the table's names and lines agree with Go's tools" names_agree
check_cgo cgo
check_cgo cgo_pie -buildmode=pie
check_cgo cgo_w -ldflags '-w'
# Go's linker leaves out the rules of C code.
check_cgo internal -ldflags '-linkmode=internal'
finish
