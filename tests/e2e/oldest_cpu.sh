#!/usr/bin/env bash
# The program on an emulated CPU of 2010, which has nothing beyond SSE 4.2 and AES (qemu knows no AVX-512): no code
# compiled for a newer one may run there, not even while the program starts (an illegal instruction ends it). What
# machines with AVX-512 never show.
source "$(dirname "$0")/common.sh"
command -v qemu-x86_64 >/dev/null || { echo 'skipped: qemu-x86_64 is not installed (scripts/setup)'; exit 77; }
[[ $(uname -m) == x86_64 ]] || { echo 'skipped: for x86-64 only'; exit 77; }

old() { qemu-x86_64 -cpu Westmere "$(command -v krt)" "$@" 2>"$dir/err"; }

check 'modules' "$(krt modules)" "$(old modules)"
check 'llmk' "$(krt execute llmk.residual residual_add_flat --args-json '[[1,2],[3,4],2]' --format text | grep out)" \
  "$(old execute llmk.residual residual_add_flat --args-json '[[1,2],[3,4],2]' --format text | grep out)"
check 'its variant' '"engine_used":"sse4"' \
  "$(old execute decode rmsnorm --args-json '[[3,4],[1,2],0]' --format json | grep -o '"engine_used":"[^"]*"')"
check 'a better one is refused' 'refused here by cpu' \
  "$(old describe decode.rmsnorm | grep -o 'refused here by [a-z_]*' | sort -u)"
finish
