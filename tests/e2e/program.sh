#!/usr/bin/env bash
# The program as a process: pipes, files, signals, exit codes.
source "$(dirname "$0")/common.sh"

add=(krt execute llmk.residual residual_add_flat --args-json)
status() { local rc=0; "$@" >"$dir/out" 2>"$dir/err" || rc=$?; echo "$rc"; }

sum=$'out     [5.0,7.0,9.0]\nn       3\nstatus  560 llmk_ok'
echo '[[1,2,3],[4,5,6],3]' >"$dir/args.json"
check 'arguments on the command line' "$sum" "$("${add[@]}" "$(cat "$dir/args.json")")"
check 'arguments from a file' "$sum" "$("${add[@]}" @"$dir/args.json")"
check 'arguments from standard input' "$sum" "$("${add[@]}" - <"$dir/args.json")"

check 'a file that is not there' 2 "$(status "${add[@]}" @"$dir/none")"
check 'its sentence' "krt: cannot read '$dir/none': No such file or directory" "$(cat "$dir/err")"
check 'a folder' 2 "$(status "${add[@]}" @"$dir")"
check 'random bytes' 1 "$(head -c 100000 /dev/urandom | status "${add[@]}" -)"
check '100 MB of brackets' 1 "$(head -c 100000000 /dev/zero | tr '\0' '[' | status "${add[@]}" -)"
check 'their sentence' 'krt: invalid_arguments: malformed JSON at byte 64: nested more than 64 deep' "$(cat "$dir/err")"
check 'standard output is full' 1 "$(krt modules 2>"$dir/err" >/dev/full && echo 0 || echo $?)"
check 'its sentence' 'krt: standard output: No space left on device' "$(cat "$dir/err")"
krt modules | true
check 'a reader that left' 0 "${PIPESTATUS[0]}"
check 'an unknown instruction set' 2 "$(KRT_ISA=mmx status krt modules)"

start_server
check 'health' 0 "$(status krt health --remote "$address")"
check 'the same call remotely' "$sum" "$("${add[@]}" @"$dir/args.json" --remote "$address")"
check 'KRT_REMOTE' "$sum" "$(KRT_REMOTE=$address "${add[@]}" @"$dir/args.json")"
check 'a port that is taken' 1 "$(status krt serve --listen "$address")"
kill -TERM "$server"
rc=0; wait "$server" || rc=$?; server=''
check 'the end of krt serve' 0 "$rc"
check 'nobody there' 3 "$(status krt health --remote "$address")"
check 'beyond loopback' 1 "$(status krt serve --listen 0.0.0.0:0)"

mkfifo "$dir/worker"
krt-worker --server "$dir/socket" >"$dir/worker" &
server=$!
read -r line <"$dir/worker"
check 'the first line of krt worker' "listening at $dir/socket" "$line"
check 'a second worker' 1 "$(status krt worker --server "$dir/socket")"
kill -TERM "$server"
rc=0; wait "$server" || rc=$?; server=''
check 'the end of krt worker' 0 "$rc"
check 'its socket' gone "$([[ -e $dir/socket ]] && echo there || echo gone)"
check 'krt demo' 0 "$(status krt demo)"
finish
