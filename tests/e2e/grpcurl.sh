#!/usr/bin/env bash
# grpcurl, through reflection: no proto is given to it.
source "$(dirname "$0")/common.sh"
command -v grpcurl >/dev/null || skip 'grpcurl is not installed (scripts/peers)'

start_server
call() { grpcurl -plaintext ${2+-d "$2"} "$address" "$1" 2>&1 | tr -d ' \n'; }

check 'services' 'algenta.runtime.v1.CodnaRuntime grpc.health.v1.Health grpc.reflection.v1alpha.ServerReflection krt.v1.KernelRuntime' \
  "$(grpcurl -plaintext "$address" list | sort | xargs)"
check 'health' '{"status":"SERVING"}' "$(call grpc.health.v1.Health/Check)"
check 'JSON' '"result_json":"560",' "$(call algenta.runtime.v1.CodnaRuntime/ExecuteModule \
  '{"module":"llmk.contract","function":"llmk_residual_dims_check","args_json":"[6,6,6]"}' | grep -o '"result_json":[^,]*,')"
check 'a failed execution is an answer' '"error":"module_not_registered:Unknownruntimelibrary' \
  "$(call algenta.runtime.v1.CodnaRuntime/ExecuteModule '{"module":"no","function":"f"}' | grep -o '"error":"[^'"'"']*')"
# 1.0 and 2.0 as packed f64, little endian, in base64; the sum 3.0 comes back so.
check 'typed' '"tensor":{"dtype":"DTYPE_F64","shape":["1"],"data":"AAAAAAAACEA="}' "$(call krt.v1.KernelRuntime/Execute '{
  "module": "llmk.residual", "function": "residual_add_flat", "args": {"list": {"items": [
    {"tensor": {"dtype": "DTYPE_F64", "shape": [1], "data": "AAAAAAAA8D8="}},
    {"tensor": {"dtype": "DTYPE_F64", "shape": [1], "data": "AAAAAAAAAEA="}}, {"int_value": 1}]}}}' | grep -o '"tensor":{[^}]*}')"
finish
