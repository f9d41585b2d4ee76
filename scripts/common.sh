# Sourced by the scripts of this folder: strict mode, the repository root as the working directory, and --help.
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# What one checkout compiled serves every other one (a fresh clone of continuous integration, a worktree).
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true

say() { printf '%s: %s\n' "$(basename "$script")" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# --help prints the comment at the top of the script.
case ${1-} in
  -h | --help) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script"; exit 0 ;;
esac

# Ninja's progress, thinned out where nobody watches it: every 25th step, and everything that is no progress line.
thin() {
  if [[ -t 1 ]]; then cat; else awk '!/^\[[0-9]+\/[0-9]+/ || /^\[([0-9]*[27]5|[0-9]*[05]0)\// { print; fflush() }'; fi
}

# configure PRESET [CMAKE_OPTION...], then compile PRESET [TARGET...]
configure() {
  say "configuring $1"
  mkdir -p build
  cmake --preset "$@" >"build/$1.configure.log" 2>&1 || { cat "build/$1.configure.log" >&2; die "cmake failed"; }
}
compile() {
  local preset=$1; shift
  say "compiling $preset"
  cmake --build --preset "$preset" ${1+--target "$@"} | thin
}
