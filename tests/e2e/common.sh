# Sourced by the tests of this folder: a folder of their own, a server, and checks that say what was got.
set -euo pipefail
dir=$(mktemp -d)
server=''
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
failures=0

# Ends the test as skipped; where KRT_CI=1 promises that all clients are there, as failed.
skip() {
  echo "skipped: $1"
  [[ ${KRT_CI-} != 1 ]] || exit 1
  exit 77
}
# check WHAT WANT GOT
check() {
  [[ $3 == "$2" ]] && return
  printf '%s:\n  want %s\n  got  %s\n' "$1" "$2" "$3"
  [[ ! -s $dir/err ]] || sed 's/^/  err  /' "$dir/err"
  failures=$((failures + 1))
}
# Starts `krt serve` on a free port; its address is then in $address.
start_server() {
  mkfifo "$dir/first"
  krt serve --listen 127.0.0.1:0 --lame-duck-ms 0 --log-level warn >"$dir/first" &
  server=$!
  local line
  read -r line <"$dir/first"
  check 'the first line of krt serve' 'listening on 127.0.0.1:PORT' "$(sed -E 's/[0-9]+$/PORT/' <<<"$line")"
  address=${line##* }
}
finish() {
  ((failures == 0)) || exit 1
  echo passed
}
