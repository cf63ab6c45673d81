"""The process of one local model: llama.cpp's server on a loopback port, ended with the process that started it.

`llama_server` runs this file as a script, so that the process has nothing of Parley in its memory. Standard input has
one line of JSON, and ends when the other process ends, however it does; standard output gets the address.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

NICE = 5
# How much is kept of conversations that are not being answered; llama.cpp's default is 8 GB.
CACHE_MIB = 256


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches this process too; the other one ends it in order
    given = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    address = os.dup(1)
    os.dup2(2, 1)  # whatever the library prints is no address
    if hasattr(os, "nice"):
        os.nice(NICE)  # whoever takes part comes first
    try:
        server = _served(**given)
    except RuntimeError as error:
        sys.exit(str(error))
    except ImportError as error:  # of the system's libraries the wheel lacks one
        sys.exit(f"{error} (on Debian and Ubuntu: apt-get install libgomp1)")
    os.write(address, f"{server.listening_address}\n".encode())
    threading.Event().wait()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def _served(file: str, name: str, key: str, threads: int, context: int, slots: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """A server that is listening; `context` is that of each slot. Raises RuntimeError if the file is no model."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = file, {name}
    params.n_ctx, params.n_parallel = context * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = CACHE_MIB
    params.api_keys = [key]  # any page in any browser of this machine could ask it otherwise
    params.ui, params.verbosity = False, 1  # errors only: nothing of what people write
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
