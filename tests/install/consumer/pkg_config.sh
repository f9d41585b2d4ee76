#!/bin/sh
# pkg_config.sh PREFIX COMPILER: builds and runs local.cc with what pkg-config says of krt.
set -eu
here=$(dirname "$0")
PKG_CONFIG_PATH=$(dirname "$(find "$1" -name krt.pc)")
export PKG_CONFIG_PATH
program=$(mktemp)
trap 'rm -f "$program"' EXIT
# shellcheck disable=SC2046  # flags are words
"$2" -std=c++20 "$here/local.cc" -o "$program" $(pkg-config --cflags --libs krt)
"$program"
