#!/usr/bin/env bash
# algenta_client.sh PYTHON: the public Python client against krt-worker.
[[ -x $1 ]] || { echo 'skipped: the public client is not installed (scripts/peers)'; exit 77; }
ALGENTA_NATIVE_WORKER=$(command -v krt-worker) ALGENTA_RUNTIME_FALLBACK_MODE=allow \
  exec "$1" "$(dirname "$0")/algenta_client.py"
