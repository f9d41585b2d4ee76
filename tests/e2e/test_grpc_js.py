"""The library that the public TypeScript client stands on, with that client's settings."""

import json
import pathlib
import subprocess

import clients

HERE = pathlib.Path(__file__).parent


def test_the_json_service_from_node(address, local):
    node, folder = clients.grpc_js()
    proto = HERE.parents[1] / "proto/algenta_runtime.proto"
    done = subprocess.run([node, HERE / "client.js", folder, proto, address], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["health"]["ok"] and out["health"]["engine"] == "mojo"
    assert out["info"]["module_count"] == len(out["modules"]) == len(local.list_modules())
    assert out["add"]["success"] and out["add"]["request_id"] == "js"
    assert json.loads(out["add"]["result_json"]) == {"out": [0.1 + 0.2, 6.0], "n": 2, "status": 560}
    assert json.loads(out["argmax"]["result_json"])["token_id"] == out["best"]
    assert not out["refused"]["success"] and out["refused"]["error"].startswith("invalid_arguments: ")
