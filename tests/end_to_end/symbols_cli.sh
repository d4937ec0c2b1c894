#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The interface of `pilotlight symbols`: the output of each command, exit statuses and messages. Names must
# equal those of llvm-symbolizer.
# Runs beside others: it judges answers about files.
. "$(dirname "$0")/lib.sh"
subcommand=symbols

# --- programs ----------------------------------------------------------------------------------

# build NAME OPTIONS...: builds a program with two levels of inlined calls.
build() {
	local name=$1

	shift
	gcc -O2 -g -fcf-protection=none "$@" "$tmp/program.c" -o "$tmp/$name" 2>"$tmp/err"
}

make_programs() {
	cat >"$tmp/program.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int innermost(int x)
{
	return rand() % (x + 1) + x * 7;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += innermost(i) ^ sum;
	return sum;
}

__attribute__((noinline)) int outer(int x)
{
	return middle(x) + middle(x + 1);
}

int main(int argc, char **argv)
{
	printf("%s %d\n", argv[0], outer(argc) + innermost(argc));
	return 0;
}
EOF
	build one -Wl,--build-id=0xabcd111122223333444455556666777788889999 &&
		build other -Wl,--build-id=0xabcd222222223333444455556666777788889999 &&
		build anonymous -Wl,--build-id=none &&
		build whole -Wl,--build-id=sha1 -gdwarf-4 &&
		cp "$tmp/whole" "$tmp/stripped" &&
		objcopy --only-keep-debug "$tmp/whole" "$tmp/whole.debug" &&
		strip "$tmp/stripped"
}

# addresses PROGRAM: prints every address of outer and main, one a line.
addresses() {
	nm -S "$1" | awk '$4 == "outer" || $4 == "main" { print $1, $2 }' |
		while read -r start size; do
			for ((a = 16#$start; a < 16#$start + 16#$size; a++)); do
				printf '0x%x\n' $a
			done
		done
}

# offsets PROGRAM: converts addresses to file offsets; .text is in one segment.
offsets() {
	local vaddr offset

	read -r vaddr offset < <(readelf -SW "$1" |
		sed -n 's/^.* \.text *PROGBITS *\([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
	while read -r a; do
		printf '0x%x\n' $((a - 16#$vaddr + 16#$offset))
	done
}

# --- the commands ------------------------------------------------------------------------------

usage() {
	local command

	check "no command is a usage error" misused
	check "an unknown command is a usage error" misused nonsense
	check "--help succeeds" run 0 --help
	for command in add list show lookup prune verify fetch; do
		check "$command --help begins with its usage" eval \
			"run 0 $command --help && prints '^usage: pilotlight symbols $command'"
		check "$command with an unknown option is a usage error" misused $command --nonsense
	done
	check "an empty cache lists nothing" eval 'run 0 list && [ ! -s "$tmp/out" ]'
	check "... and is not created by list" [ ! -e "$PILOTLIGHT_SYMBOL_CACHE" ]
}

adding() {
	check "binaries are added" run 0 add "$tmp/one" "$tmp/other" "$tmp/anonymous"
	check "... each with its counts" eval 'prints "^$tmp/one: abcd1111.*functions.*inlined.*lines"'
	check "... one by its hash" prints "^$tmp/anonymous: htlhash:"
	check "an existing entry is kept" eval 'run 0 add "$tmp/one" && prints "kept what was there"'
	check "a file other than ELF fails" eval 'fails add "$tmp/program.c" && complains "not an ELF"'
	head -c 100 "$tmp/one" >"$tmp/cut"
	check "a damaged one fails" fails add "$tmp/cut"
	check "a missing one fails, the others do not" eval \
		'run 1 add "$tmp/missing" "$tmp/one" && says_one_sentence && prints "kept"'
	check "list prints them and a title" eval 'run 0 list && [ "$(wc -l <"$tmp/out")" -ge 4 ]'
	check "list --json is JSON" eval 'run 0 list --json && is_json_lines "$tmp/out"'
	check "show prints the origin" eval 'run 0 show abcd1111 && prints "^origin.*one$"'
	check "show --json is JSON" eval 'run 0 show abcd1111 --json && is_json_lines "$tmp/out"'
	check "an ambiguous prefix is refused" eval 'fails show abcd && complains "abcd1111.*abcd2222"'
	check "three digits are refused" eval 'fails show abc && complains "first 4"'
	check "an unknown one fails" eval 'fails show 0123456789 && complains "no symbols"'
	check "show accepts a binary's path" run 0 show "$tmp/anonymous"
}

looking_up() {
	addresses "$tmp/one" >"$tmp/addresses"
	note "$(wc -l <"$tmp/addresses") addresses"
	"$pilotlight" symbols lookup "$tmp/one" <"$tmp/addresses" >"$tmp/ours"
	check "every address of two functions is answered" [ \
		"$(grep -c '^$' "$tmp/ours")" = "$(wc -l <"$tmp/addresses")" ]
	check "... with inlined functions" eval 'grep -q "^innermost$" "$tmp/ours"'
	if has llvm-symbolizer; then
		llvm-symbolizer --obj="$tmp/one" <"$tmp/addresses" >"$tmp/theirs"
		check "... as llvm-symbolizer does" diff "$tmp/theirs" "$tmp/ours"
	else
		skip "... as llvm-symbolizer does" "needs llvm-symbolizer"
	fi
	check "addresses as arguments get the same answers" eval \
		'"$pilotlight" symbols lookup "$tmp/one" $(cat "$tmp/addresses") | cmp - "$tmp/ours"'
	check "file offsets get the same answers" eval 'offsets "$tmp/one" <"$tmp/addresses" |
		"$pilotlight" symbols lookup --offset abcd1111 | cmp - "$tmp/ours"'
	check "an address without a name is ??" eval \
		'[ "$("$pilotlight" symbols lookup abcd1111 0x1 | tr "\n" ,)" = "??,??:0:0,," ]'
	json_says_the_same
	mistakes
	conversation
	many
}

json_says_the_same() {
	"$pilotlight" symbols lookup --json "$tmp/one" <"$tmp/addresses" >"$tmp/json"
	check "JSON has the same names" python3 - "$tmp/json" "$tmp/ours" "$tmp/addresses" <<'EOF'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
text = ""
for row in rows:
    for frame in row["frames"]:
        text += "%s\n%s:%d:%d\n" % (frame["function"] or "??", frame["file"] or "??",
                                    frame["line"], frame["column"])
    assert [frame["inlined"] for frame in row["frames"]][-1:] in ([], [False])
    assert all(frame["inlined"] for frame in row["frames"][:-1])
    text += "\n" if row["frames"] else "??\n??:0:0\n\n"
assert text == open(sys.argv[2], encoding="utf-8").read()
assert [row["address"] for row in rows] == open(sys.argv[3]).read().split()
EOF
}

mistakes() {
	printf '0x1\nmain\n0x2' | "$pilotlight" symbols lookup abcd1111 >"$tmp/out" 2>"$tmp/err"
	check "an invalid address gives status 1" [ $? = 1 ]
	check "... is reported with its line" complains "line 2 of standard input: 'main'"
	check "... and is counted" [ "$(grep -c '^$' "$tmp/out")" = 3 ]
	"$pilotlight" symbols lookup abcd1111 <"$tmp/addresses" 2>"$tmp/err" >/dev/full
	check "a full disk gives status 1" [ $? = 1 ]
	check "... and is reported" says_one_sentence
	yes 0x1 | "$pilotlight" symbols lookup abcd1111 2>"$tmp/err" | head -n 1 >"$tmp/out"
	check "a reader that goes away ends it" eval \
		'[ "$(cat "$tmp/out")" = "??" ] && [ ! -s "$tmp/err" ]'
}

# Sends the next line only after the previous answer.
conversation() {
	local address answer name whole=yes

	coproc "$pilotlight" symbols lookup abcd1111
	for address in $(head -n 5 "$tmp/addresses") 0x1; do
		echo "$address" >&"${COPROC[1]}"
		name=
		while read -r -t 20 -u "${COPROC[0]}" answer && [ -n "$answer" ]; do
			name=$answer
		done
		[ -n "$name" ] || whole=no
	done
	exec {COPROC[1]}>&-
	wait "$COPROC_PID"
	check "each line is answered before the next is asked" [ $whole = yes ]
}

many() {
	local count=200000

	check "$count addresses are answered" eval "[ \$(yes \"\$(cat '$tmp/addresses')\" |
		head -n $count | '$pilotlight' symbols lookup abcd1111 | grep -c '^\$') = $count ]"
}

separate_debug_files() {
	addresses "$tmp/whole" >"$tmp/addresses"
	run 0 add "$tmp/whole" && "$pilotlight" symbols lookup "$tmp/whole" <"$tmp/addresses" \
		>"$tmp/ours"
	run 0 add --force "$tmp/stripped"
	check "a stripped binary has no lines" eval \
		'! "$pilotlight" symbols lookup "$tmp/stripped" <"$tmp/addresses" | grep -q program.c'
	check "--debug gives them back" run 0 add --debug "$tmp/whole.debug" "$tmp/stripped"
	check "... all of them" eval \
		'"$pilotlight" symbols lookup "$tmp/stripped" <"$tmp/addresses" | cmp - "$tmp/ours"'
	check "... and a lower rank does not replace them" eval \
		'run 0 add --force "$tmp/stripped" && prints "kept what was there from a debug file"'
	rm -rf "$PILOTLIGHT_SYMBOL_CACHE"
	check "add accepts a debug file alone" run 0 add "$tmp/whole.debug"
	check "... for addresses" eval \
		'"$pilotlight" symbols lookup "$tmp/stripped" <"$tmp/addresses" | cmp - "$tmp/ours"'
	check "... though not for offsets" eval \
		'fails lookup --offset "$tmp/stripped" 0x1000 && complains "offsets are not known"'
	check "another binary's debug file is refused" eval \
		'fails add --debug "$tmp/whole.debug" "$tmp/one" && complains "another binary"'
	(cd "$tmp" && objcopy --add-gnu-debuglink=whole.debug stripped linked &&
		objcopy --remove-section .note.gnu.build-id linked) 2>"$tmp/err"
	check ".gnu_debuglink is followed" eval \
		'run 0 add "$tmp/linked" && prints "by .gnu_debuglink"'
}

# names FUNCTION...: prints the names of these addresses of the stripped library.
names() {
	local name

	for name; do
		"$pilotlight" symbols lookup "$tmp/bounds.so" \
			"$(nm "$tmp/bounds.whole" | awk -v name="$name" '$3 == name { print $1 }')" |
			head -n 1
	done | tr '\n' ,
}

# Symbols of assembler code have no size if its author gave none. Stripping removes the names between them.
symbols_without_a_size() {
	cat >"$tmp/bounds.s" <<-'END'
		.text
		.globl plain
		plain:	xor %eax, %eax
			ret
			.p2align 4
		hidden:	nop
			ret
			.p2align 4
		.globl framed
		framed:	.cfi_startproc
			nop
			ret
			.cfi_endproc
		behind:	nop
			ret
			.p2align 4
		.globl object
		.type object, @object
		object:	nop
			ret
			.size object, . - object
	END
	gcc -shared -nostdlib -Wl,--build-id "$tmp/bounds.s" -o "$tmp/bounds.whole" 2>"$tmp/err" &&
		strip -o "$tmp/bounds.so" "$tmp/bounds.whole"
	run 0 add "$tmp/bounds.so"
	check "a symbol without a size names its function alone" eval \
		'[ "$(names plain hidden framed behind)" = "plain,??,framed,??," ]'
	check "a symbol of an object names code" eval '[ "$(names object)" = object, ]'
	run 0 add --force "$tmp/bounds.whole"
	check "whole symbol tables name all functions" eval \
		'[ "$(names plain hidden framed behind)" = "plain,hidden,framed,behind," ]'
}

damage() {
	local file

	run 0 add --force "$tmp/one" "$tmp/other"
	check "verify finds no damage in valid files" eval 'run 0 verify && prints ": 0 damaged, 0 unreadable"'
	file=$PILOTLIGHT_SYMBOL_CACHE/ab/cd111122223333444455556666777788889999.sym
	printf X | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
	check "verify finds damage" eval 'run 1 verify && prints "^abcd1111.*: damaged"'
	check "verify --json reports it too" eval \
		'run 1 verify --json && prints "\"damaged\"" && is_json_lines "$tmp/out"'
	check "verify --remove removes it" eval 'run 1 verify --remove && [ ! -e "'"$file"'" ]'
	check "... and nothing else" eval 'run 0 verify && run 0 show abcd2222'
	check "... and it can be made again" eval 'run 0 add "$tmp/one" && run 0 show abcd1111'
	printf X | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
	check "lookup rejects a damaged file" fails lookup abcd1111 0x1
	touch -d '3 hours ago' "$PILOTLIGHT_SYMBOL_CACHE/ab/cd222222223333444455556666777788889999.sym"
	check "prune keeps files that fit" eval \
		'run 0 prune --json && prints "\"removed_entries\":0" && is_json_lines "$tmp/out"'
	check "prune makes room" eval 'run 0 prune --max-bytes 0 && prints "; 0 of 0 B are left"'
	check "... for good" eval 'run 0 list && [ ! -s "$tmp/out" ]'
	check "prune requires a valid size" misused prune --max-bytes lots
}

# A folder serves the files; libdebuginfod accepts file URLs.
fetching() {
	local id server

	id=$(readelf -n "$tmp/whole" | sed -n 's/.*Build ID: //p')
	server=$tmp/server/buildid/$id
	mkdir -p "$server"
	cp "$tmp/whole.debug" "$server/debuginfo"
	addresses "$tmp/whole" >"$tmp/addresses"
	rm -rf "$PILOTLIGHT_SYMBOL_CACHE"
	check "fetch without a server fails" eval \
		'DEBUGINFOD_URLS= fails fetch "$id" && complains DEBUGINFOD_URLS'
	check "fetch without a build-id fails" eval \
		'fails fetch --urls "file://$tmp/server" "$tmp/anonymous" && complains "no build-id"'
	if ! ldconfig -p | grep -q libdebuginfod.so.1; then
		skip "fetch gets a debug file" "needs libdebuginfod.so.1"
		skip "... and names come from it" "needs libdebuginfod.so.1"
		skip "... and a local debug file has priority" "needs libdebuginfod.so.1"
		skip "fetch of an unknown build-id fails" "needs libdebuginfod.so.1"
		return
	fi
	check "fetch gets a debug file" eval \
		'run 0 fetch --urls "file://$tmp/server" "$tmp/stripped" && prints "a debuginfod server"'
	check "... and names come from it" eval \
		'"$pilotlight" symbols lookup "$id" <"$tmp/addresses" | cmp - "$tmp/ours"'
	check "... and a local debug file has priority" eval \
		'run 0 add "$tmp/whole.debug" && prints "added from a debug file, by build-id"'
	check "fetch of an unknown build-id fails" eval \
		'fails fetch --urls "file://$tmp/server" 0123456789abcdef && complains "no server has"'
}

# The cache of another user can be read but not written.
without_privilege() {
	local as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	if [ "$(id -u)" != 0 ]; then
		skip "other users cannot read a cache" "needs root"
		skip "... unless the owner permits it" "needs root"
		skip "... and add fails where it cannot write" "needs root"
		skip "... and says so" "needs root"
		skip "without a home folder the error names --cache" "needs root"
		return
	fi
	run 0 add "$tmp/one"
	cp "$pilotlight" "$tmp/pilotlight"
	chmod 755 "$tmp/pilotlight"
	addresses "$tmp/one" >"$tmp/addresses"
	check "other users cannot read a cache" eval \
		'! "${as_nobody[@]}" "$tmp/pilotlight" symbols lookup abcd1111 <"$tmp/addresses" \
			>"$tmp/out" 2>"$tmp/err" && complains "Permission denied"'
	chmod -R a+rX "$PILOTLIGHT_SYMBOL_CACHE"
	check "... unless the owner permits it" eval \
		'[ "$("${as_nobody[@]}" "$tmp/pilotlight" symbols lookup abcd1111 <"$tmp/addresses" |
		grep -c "^outer$")" -gt 10 ]'
	"${as_nobody[@]}" "$tmp/pilotlight" symbols add "$tmp/other" >"$tmp/out" 2>"$tmp/err"
	check "... and add fails where it cannot write" [ $? = 1 ]
	check "... and says so" eval 'says_one_sentence && complains "$PILOTLIGHT_SYMBOL_CACHE"'
	"${as_nobody[@]}" env -u PILOTLIGHT_SYMBOL_CACHE -u XDG_CACHE_HOME -u HOME \
		"$tmp/pilotlight" symbols list >"$tmp/out" 2>"$tmp/err"
	check "without a home folder the error names --cache" eval 'says_one_sentence && complains -- --cache'
}

manual() {
	if ! has mandoc; then
		skip "the manual has no mistakes" "needs mandoc"
		return
	fi
	check "the manual has no mistakes" mandoc -Tlint -Wwarning "$root/tools/pilotlight-symbols.1"
}

[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands gcc objcopy python3
make_programs || { cat "$tmp/err"; echo "Bail out! no programs to look at"; exit 1; }
plan 84
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
unset DEBUGINFOD_URLS
cd "$tmp" || exit 1

usage
adding
looking_up
separate_debug_files
symbols_without_a_size
damage
fetching
without_privilege
manual
finish
