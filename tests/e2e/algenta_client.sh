#!/usr/bin/env bash
# algenta_client.sh PYTHON: the public Python client against krt-worker.
source "$(dirname "$0")/common.sh"
[[ -x $1 ]] || skip 'the public client is not installed (scripts/peers)'
ALGENTA_NATIVE_WORKER=$(command -v krt-worker) ALGENTA_RUNTIME_FALLBACK_MODE=allow \
  "$1" "$(dirname "$0")/algenta_client.py"
