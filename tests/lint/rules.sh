#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rules of HACKING.md that a script can check. Each rule is a function that reads a tree and prints
# what breaks it. The test of a rule first breaks it on purpose in a tree of its own, then checks this tree.
# Runs beside others: it only reads files.
. "$(dirname "$0")/../end_to_end/lib.sh"

cd "$root" || exit 1
stages=$(make -s --no-print-directory print-stages)
read -ra compile <<<"$(make -s --no-print-directory print-compile VARIANT=asan)"
read -ra compile_bpf <<<"$(make -s --no-print-directory print-bpf-compile)"
planted=$tmp/planted
mkdir -p "$planted"/{daemon/{base,store},tools,tests/store}

# --- rules: each prints its findings, one a line; no line means that the tree keeps the rule -----------

# The compiler's warnings are errors. FILE...
find_warnings() {
	"${compile[@]}" -Werror -fsyntax-only "$@" 2>&1
}

# A header includes what it needs. Callbacks of tests may leave parameters unused. ROOT
find_dependent_headers() {
	(cd "$1" && find daemon include tools tests -name '*.h' -print0 |
		xargs -0 -P "$cpu_count" -I{} "${compile[@]}" -Werror -Wno-unused-parameter -fsyntax-only -x c \
			-include {} /dev/null 2>&1)
}

# A stage includes earlier stages only; tests include their stage and earlier ones. ROOT
find_includes_upward() {
	(cd "$1" && grep -rn --include='*.[ch]' '^#include "' daemon tools tests) |
		awk -v stages="$stages" '
	BEGIN {
		n = split(stages, list, " ")
		for (i = 1; i <= n; i++)
			order[list[i]] = i
		order["main.c"] = n + 1
		order["tools"] = order["harness"] = order["fuzz"] = order["bench"] = n + 2
		order["end_to_end"] = order["workloads"] = n + 2
	}
	{
		split($0, part, ":")
		file = part[1]
		split($0, quoted, "\"")
		n_from = split(file, from, "/")
		split(quoted[2], to, "/")
		room = from[1] == "tools" ? "tools" : from[2]
		if (!(room in order))
			print file ": no such stage in the Makefile: " room
		else if (to[1] in order && order[to[1]] > order[room])
			print file ":" part[2] ": " room " comes before " to[1]
	}'
}

# Headers do not include each other, be it by way of others. ROOT
find_include_circles() {
	(cd "$1" && grep -rn --include='*.h' '^#include "' bpf daemon include tools tests 2>/dev/null) | awk '
	{
		split($0, part, ":")
		split($0, quoted, "\"")
		from = part[1]
		sub(/^(daemon|include|bpf)\//, "", from)
		print from, quoted[2]
	}' | circles headers
}

# Two objects of one archive do not need each other, be it by way of others. ARCHIVE...
find_link_circles() {
	local archive

	for archive; do
		nm -A "$archive" 2>/dev/null | awk '
		{
			split($1, place, ":")
			if ($2 == "U")
				used[place[2] " " $3]
			else if ($2 ~ /^[TDBR]$/)
				definer[$3] = place[2]
		}
		END {
			for (pair in used) {
				split(pair, use, " ")
				if (use[2] in definer && definer[use[2]] != use[1])
					print use[1], definer[use[2]]
			}
		}' | circles "$(basename "$archive")"
	done
}

# circles NAME: of a graph, an edge "A B" a line.
circles() {
	sort -u | tsort 2>&1 >/dev/null | awk -v name="$1" '
	/contains a loop/ { next }
	{ sub(/^tsort: /, ""); files = files " " $0 }
	END { if (files) print name ": circle:" files }'
}

# Linux 6.1 accepts the stack of each BPF program. FILE...
find_deep_stacks() {
	local file

	for file; do
		"${compile_bpf[@]}" -fstack-size-section -c "$file" -o "$tmp/stack.o" 2>&1 || continue
		tests/lint/bpf_stack.py "$tmp/stack.o" 2>&1 | awk '!($1 ~ /^[0-9]+$/ && $1 <= 512)'
	done
}

# FILE...
find_unformatted() {
	clang-format --dry-run "$@" 2>&1 | grep 'warning:'
}

# FILE...
find_untidy() {
	printf '%s\0' "$@" | flags="${compile[*]:1}" xargs -0 -P "$cpu_count" -n 16 \
		bash -c 'clang-tidy --quiet --config-file=.clang-tidy "$@" -- $flags 2>/dev/null' _ | grep -E '(warning|error):'
}

# FILE...
find_bad_manuals() {
	mandoc -Tlint -Wwarning "$@" 2>&1
}

# Subjects on standard input: "room: imperative", at most 72 characters.
find_bad_subjects() {
	awk -v rooms="$(rooms)" '
	BEGIN {
		n = split(rooms, list, " ")
		for (i = 1; i <= n; i++)
			known[list[i]]
	}
	{
		why = ""
		verb = $0
		if (length($0) > 72)
			why = "longer than 72 characters"
		if (!sub(/^[^:]*: /, "", verb)) {
			why = "does not begin with \"room: \""
		} else {
			prefix = substr($0, 1, length($0) - length(verb) - 2)
			n = split(prefix, named, ", ")
			for (i = 1; i <= n; i++)
				if (!(named[i] in known))
					why = "no such room: " named[i]
			sub(/[ ,].*/, "", verb)
			if (verb !~ /^[a-z]/)
				why = "a capital letter behind the room"
			if (verb ~ /(ed|ing)$/ && verb !~ /^(embed|need|feed|seed|shed|exceed|bring|string)$/ ||
					verb ~ /^(a|an|the|is|are|what|who|where|when|if)$/)
				why = "does not begin with an imperative: " verb
		}
		if ($0 ~ /\.$/)
			why = "ends with a full stop"
		if (why)
			print $0 ": " why
	}'
}

# What a subject may begin with.
rooms() {
	echo all bpf build ci daemon docs fuzz include install lint make manuals README HACKING service systemd tests tools
	(cd "$root" && ls -d daemon/*/ tools/*/ tests/*/ | sed 's|/$||; s|.*/||')
}

# The subjects since this rule came to be. Prints nothing without the history.
subjects() {
	local first

	first=$(git log --diff-filter=A --format=%H -- tests/lint/rules.sh 2>/dev/null | tail -n 1)
	[ -z "$first" ] || git log --no-merges --format=%s "$first"..HEAD
}

# --- checks --------------------------------------------------------------------------------------------

# finds RULE ARGUMENT...: does the rule find a violation?
finds() {
	[ -n "$("$@")" ]
}

# finds_in TEXT RULE...: likewise, with TEXT as its standard input.
finds_in() {
	local text=$1

	shift
	[ -n "$("$@" <<<"$text")" ]
}

# keeps RULE ARGUMENT...: does it find none?
keeps() {
	local findings

	findings=$("$@" | head -n 40)
	[ -z "$findings" ] && return
	note "$findings"
	return 1
}

subjects_are_good() {
	local findings

	findings=$(subjects | find_bad_subjects)
	[ -z "$findings" ] && return
	note "$findings"
	return 1
}

plan 18
mapfile -t sources < <(git ls-files '*.c' '*.h' 2>/dev/null || find bpf daemon include tools tests -name '*.[ch]')
mapfile -t product < <(ls daemon/*.c daemon/*/*.c tools/*.c tools/*/*.c)
mapfile -t manuals < <(ls tools/*.1 daemon/*.[58])

echo 'int f(void) { return 0; }' >"$planted/daemon/base/warning.c"
check "a warning is refused" finds find_warnings "$planted/daemon/base/warning.c"

echo 'size_t size(void);' >"$planted/daemon/base/dependent.h"
mkdir -p "$planted/include"
check "a header that does not compile alone is refused" finds find_dependent_headers "$planted"
check "each header compiles alone" keeps find_dependent_headers .
rm "$planted/daemon/base/dependent.h"

echo '#include "store/store.h"' >"$planted/daemon/base/upward.c"
check "an include of a later stage is refused" finds find_includes_upward "$planted"
check "a stage includes earlier stages only" keeps find_includes_upward .
rm "$planted/daemon/base/upward.c"

echo '#include "store/b.h"' >"$planted/daemon/store/a.h"
echo '#include "store/a.h"' >"$planted/daemon/store/b.h"
check "headers that include each other are refused" finds find_include_circles "$planted"
check "no headers include each other" keeps find_include_circles .

echo 'int b(void); int a(void); int a(void) { return b(); }' >"$planted/a.c"
echo 'int a(void); int b(void); int b(void) { return a(); }' >"$planted/b.c"
(cd "$planted" && gcc -c a.c b.c && ar rcs circle.a a.o b.o)
check "objects that need each other are refused" finds find_link_circles "$planted/circle.a"
check "no objects of a stage need each other" keeps find_link_circles build/asan/lib/*.a

cat >"$planted/deep.bpf.c" <<'EOF'
static __attribute__((noinline)) int below(int n)
{
	volatile char room[264];

	return room[n];
}

__attribute__((section("tc"))) int above(int *context)
{
	volatile int room[64];

	return below(room[*context & 63]);
}
EOF
check "a BPF program whose calls need too much stack is refused" finds find_deep_stacks "$planted/deep.bpf.c"
check "BPF programs fit into the stack of Linux 6.1" keeps find_deep_stacks bpf/*.bpf.c

if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	echo 'int  a ;' >"$planted/format.c"
	cp .clang-format "$planted"
	check "another layout is refused" finds find_unformatted "$planted/format.c"
	check "clang-format changes nothing" keeps find_unformatted "${sources[@]}"
else
	skip "another layout is refused" "needs clang-format 14, as versions differ in layout"
	skip "clang-format changes nothing" "needs clang-format 14, as versions differ in layout"
fi

if has clang-tidy; then
	printf 'int f(int a);\nint f(int a)\n{\n\tif (a);\n\t\ta = 2;\n\treturn a;\n}\n' >"$planted/tidy.c"
	check "what clang-tidy finds is refused" finds find_untidy "$planted/tidy.c"
	check "clang-tidy finds nothing" keeps find_untidy "${product[@]}"
else
	skip "what clang-tidy finds is refused" "needs clang-tidy"
	skip "clang-tidy finds nothing" "needs clang-tidy"
fi

check "manual pages have no warnings" keeps find_bad_manuals "${manuals[@]}"

check "bad commit subjects are refused" finds_in 'store: Merged the windows.' find_bad_subjects
if [ -n "$(subjects)" ]; then
	check "commit subjects keep the rule" subjects_are_good
else
	skip "commit subjects keep the rule" "needs the history since the rule"
fi
finish
