import os
import signal
import subprocess

import pytest

import krt

PROGRAM = os.environ.get("KRT_PROGRAM", "")


@pytest.fixture(scope="session")
def program():
    assert PROGRAM, "KRT_PROGRAM names the krt program (ctest sets it)"
    return PROGRAM


class Server:
    """A `krt serve` on a port that it chose itself."""

    def __init__(self, program, *options):
        command = [program, "serve", "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        first = self.process.stdout.readline()
        assert first.startswith("listening on "), first
        self.address = first.split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.process.stdout.close()
        return status


@pytest.fixture(scope="session")
def start(program):
    """Starts a server; each is stopped at the end, and must end well."""
    servers = []

    def start_one(*options):
        servers.append(Server(program, *options))
        return servers[-1]

    yield start_one
    for server in servers:
        if server.process.poll() is None:
            assert server.stop() == 0


@pytest.fixture(scope="session")
def address(start):
    return start().address


@pytest.fixture(scope="session")
def local():
    return krt.MojoRuntime(threads=2)


@pytest.fixture(scope="session")
def remote(address):
    return krt.MojoRuntime(mode="remote", address=address)
