#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The manual pages and completions have every command, option, section and key of the INI form, and every
# map, as the source's tables list them; man, bash and zsh read them without complaint.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

# Fails and names the words that a file lacks.
has_all() { # FILE WORD...
	local file=$1 word missing=0
	shift
	for word; do
		grep -qF -- "$word" "$file" || { echo "missing: $word" && missing=1; }
	done
	[ $# -gt 0 ] && [ $missing -eq 0 ]
}

check "tools/man/make makes the pages" "$top/tools/man/make" "$BULKHEAD" "$tmp"
for page in bulkhead.8 bulkhead.ini.5 bulkhead-maps.7 kubectl-bulkhead.1; do
	MANWIDTH=100 MANROFFOPT=-ww man --warnings -l "$tmp/$page" >"$tmp/$page.txt" 2>"$tmp/warnings"
	check "$page is laid out" test -s "$tmp/$page.txt"
	check "man lays out $page without a warning" test ! -s "$tmp/warnings"
done

mapfile -t commands < <("$BULKHEAD" help |
	awk '/^commands:/ { on = 1; next } !NF { on = 0 } on && /^  [a-z]/ { print $1 }')
listed=$(sed -n '/^## The command/,/^Exit status/p' "$top/README.md" | grep '^| `' | cut -d'|' -f2 | grep -oE '`[a-z]+' | tr -d '`' | sort -u)
check "README.md has every command, and no other" is "$listed" "$(printf '%s\n' "${commands[@]}" | sort)"
check "bulkhead(8) has every command" has_all "$tmp/bulkhead.8.txt" "${commands[@]/#/   }"
sed -e 's/‐/-/g' -e 's/−/-/g' "$tmp/bulkhead.8.txt" >"$tmp/plain"
for command in "${commands[@]}"; do
	mapfile -t options < <("$BULKHEAD" help "$command" | grep -oE '^ .*  --[a-z-]+|^  -., --[a-z-]+' |
		grep -oE -- '--[a-z-]+' | grep -vxE -- '--(json|pretty|help)')
	[ ${#options[@]} -eq 0 ] ||
		check "bulkhead(8) has every option of $command" has_all "$tmp/plain" "${options[@]}"
done
check "bulkhead(8) has the options of every command once" is "$(grep -ocE -- '--(debug|strict)\b' "$tmp/plain")" 2
check "bulkhead(8) has both words of an option's value" grep -qE '^ *--named-port NAME PORT$' "$tmp/plain"

# Takes the names of sections and keys from the INI reader's own table.
table=$(sed -n '/^} kinds\[\] = {/,/^};/p' "$top/user/input/ini_section.c")
mapfile -t sections < <(grep -oE '\{\.name = "[a-z0-9-]+' <<<"$table" | cut -d'"' -f2)
sed -e 's/‐/-/g' -e 's/−/-/g' "$tmp/bulkhead.ini.5.txt" >"$tmp/plain"
check "bulkhead.ini(5) has every section" has_all "$tmp/plain" "${sections[@]/#/[}"
# The page has the key audit of the policies once, below them.
tr '\n\t' '  ' <<<"$table" | grep -oE '\.name = "[^}]*\.keys = \{[^}]*' | sed '/policy/s/, "audit"//' >"$tmp/sections"
while IFS='"' read -r _ section keys; do
	mapfile -t keys < <(sed 's/.*\.keys//' <<<"$keys" | grep -oE '"[a-z-]+"' | tr -d '"')
	awk -v header="   [$section" 'index($0, header "]") == 1 || index($0, header " ") == 1 { on = 1; next }
		/^   [^ ]/ { on = 0 } on && /^       [a-z]/ { gsub(/,/, ""); print " " $1, $2, $3, $4 " " }' "$tmp/plain" >"$tmp/keys"
	check "bulkhead.ini(5) has every key of [$section]" has_all "$tmp/keys" "${keys[@]/#/ }"
done <"$tmp/sections"
check "bulkhead.ini(5) has the key audit of policies" grep -q '^ *audit .*the *policy *has *no *effect' "$tmp/plain"
mapfile -t words < <(grep -oE '(ini_(take_word|next_is)\(value, |^\t\t\{)"[a-z-]+"' "$top/user/input/ini_rule.c" | cut -d'"' -f2 |
	sed -E 's/-(.)/\U\1/g; /^(in|except|any|none|self|notSelf|from|to|ports)$/!s/$/(/')
check "bulkhead.ini(5) has every word of a rule" has_all "$tmp/plain" "${words[@]}"

mapfile -t maps < <(sed -n 's/^} \(bh_[a-z0-9_]*\) SEC(".maps");/\1/p' "$top"/maps/*.bpf.h)
check "bulkhead-maps(7) has every map" has_all "$tmp/bulkhead-maps.7.txt" "${maps[@]}"

"$BULKHEAD" completion bash >"$tmp/bash"
"$BULKHEAD" completion zsh >"$tmp/zsh"
check "bash parses its completion" bash -n "$tmp/bash"
check "zsh parses its completion" zsh -n "$tmp/zsh"
check "zsh's completion has every command" has_all "$tmp/zsh" "${commands[@]/%/)}"

check "zsh's completion knows options before a command" eval \
	'awk "/_arguments -C/ { on = 1 } on; /1:command/ { exit }" "$tmp/zsh" | grep -F -- "{-j,--json}"'
check "zsh's completion has the command help, and commands behind it" has_all "$tmp/zsh" "'help:" "help) _describe command names"
zsh_looks() { # PREFIX: in the folder of zsh's completion
	local folder
	folder=$(make -n -C "$top" PREFIX="$1" install 2>/dev/null | sed -n 's|.* completion zsh > \(.*\)/_bulkhead$|\1|p')
	[ -n "$folder" ] && zsh -fc 'print -l $fpath' | grep -xF "$folder"
}
check "zsh looks where make install puts its completion" zsh_looks /usr/local
check "zsh looks where the package puts its completion" zsh_looks /usr

build=$(dirname "$BULKHEAD")
# Root installs with a umask that hides files, and a packager installs into a folder.
installs() { # TARGET
	(umask 077 && make -s -C "$top" O="$build" PREFIX=/usr DESTDIR="$tmp/dest" "$1")
}
if make -q -C "$top" O="$build" "$build/bulkhead" 2>/dev/null; then # of this tree
	check "make install installs" installs install
	check "every user may read what is installed" is "$(find "$tmp/dest" -mindepth 1 ! -type l ! -perm -044)" ""
	check "every user may enter the installed folders" is "$(find "$tmp/dest" -mindepth 1 -type d ! -perm -055)" ""
	check "every user may run the installed command" "$tmp/dest/usr/bin/bulkhead" version
	check "make uninstall removes it" installs uninstall
	check "make uninstall leaves no file" is "$(find "$tmp/dest" ! -type d)" ""
else
	check_skip "make install and uninstall" "the command is not built of this tree"
fi

"$BULKHEAD" completion fish >"$tmp/fish"
check "fish's completion has every command" has_all "$tmp/fish" "${commands[@]/#/ -a }"
check "fish's completion has an option of two spellings" grep -q -- '"__fish_seen_subcommand_from load" -s n -l node -x' "$tmp/fish"
if command -v fish >/dev/null; then
	# Prints fish's completions of a command line; a fake `bulkhead` prints two endpoints and a domain name.
	fish_completes() { # COMMAND-LINE
		HOME=$tmp fish --no-config -c "function bulkhead
				test \$argv[1] = graph; and echo '[\"name:api.io\"]'; or printf '%s\n' 'shop/db x' 'shop/web x'
			end
			source '$tmp/fish'; complete -C '$1'" | cut -f1
	}
	check "fish parses its completion" fish -n "$tmp/fish"
	check "fish completes a command" is "$(fish_completes 'bulkhead unl')" unload
	check "fish completes an option" is "$(fish_completes 'bulkhead load --roll')" --rollback
	check "fish completes an option's words" is "$(fish_completes 'bulkhead cni install --unknown ')" "$(printf '%s\n' admit isolate)"
	check "fish completes a pod" is "$(fish_completes 'bulkhead trace --from shop/w')" shop/web
	check "fish completes a domain name" is "$(fish_completes 'bulkhead trace --to name:a')" name:api.io
else
	check_skip "fish reads its completion" "fish is not installed"
fi

# Prints bash's completions of the last WORD; a fake `bulkhead` prints two endpoints and two domain names.
offered() { # WORD...
	PATH=$tmp/bin:$PATH bash -c '. "$0"; COMP_WORDBREAKS=${BREAKS:-$COMP_WORDBREAKS}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bulkhead
		echo "${COMPREPLY[*]}"' "$tmp/bash" "$@"
}
mkdir "$tmp/bin"
cat >"$tmp/bin/bulkhead" <<'END'
#!/bin/sh
[ "$1" = graph ] || exec printf '%s\n' "shop/db  10.0.0.1" "shop/web  10.0.0.2"
echo '{"members":["shop/db","name:*.svc.io","name:api.io"],"to":["name:api.io"]}'
END
chmod 755 "$tmp/bin/bulkhead"
check "pods complete as an option's value" is "$(offered bulkhead trace --from shop/w)" shop/web
check "pods and domain names complete as a destination" is "$(offered bulkhead trace --to '')" \
	"shop/db shop/web name:*.svc.io name:api.io"
# readline splits a word at colons, unless it is told not to
check "a domain name completes behind its colon" is "$(offered bulkhead trace --to name :)" "*.svc.io api.io"
check "a domain name completes from its first letter on" is "$(offered bulkhead trace --to name : a)" api.io
check "a domain name completes in one word" is \
	"$(BREAKS=' ' offered bulkhead trace --to name:a)" name:api.io
check "no domain name completes as a source" is "$(offered bulkhead trace --from name : a)" ""
check "pods complete as an operand" is "$(offered bulkhead endpoint del shop/d)" shop/db
check "a word of a list completes as an option's value" is "$(offered bulkhead cni --unknown i)" isolate
printf '#!/bin/sh\necho "a\$(>%s)" b*\n' "$tmp/ran" >"$tmp/bin/ls" && chmod 755 "$tmp/bin/ls" # for /sys/class/net
check "a name with a command in it completes as it is" is "$(offered bulkhead load --uplink a)" "a\$(>$tmp/ran)"
check "completion runs no command in a name" test ! -e "$tmp/ran"
rm "$tmp/bin/ls"
check "a command completes" is "$(offered bulkhead tra)" trace
check "another shell is refused" test "$("$BULKHEAD" completion tcsh >/dev/null 2>&1; echo $?)" -eq 2
check_end
