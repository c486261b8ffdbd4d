"""Loads the context binary for this device from a file, in four ways: python_load.py model.fatctx"""
import sys
import threading

import fatctx

path = sys.argv[1]


def create_context(binary):
    """Represents a call of a backend: it takes a pointer and a size, valid as long as the object exists."""
    print(f"{binary.nbytes} bytes at {binary.address:#x}")


# Waits until the load has finished.
loaded = fatctx.load(path)
create_context(loaded.binary())
print("format:", loaded.model.format)
print(loaded.model.explain())

# Gives up after ten seconds, or when another thread cancels.
signal = fatctx.LoadSignal(timeout=10)
user = threading.Thread(target=signal.cancel)  # represents a user who presses a button
user.start()
user.join()
try:
    fatctx.load(path, signal=signal)
except fatctx.Cancelled as error:
    print("cancelled:", error)
signal.reset()
create_context(fatctx.load(path, signal=signal).binary())

# Registers callbacks: for each graph, for the context, and for the bytes read so far.
fatctx.load(path, notify=lambda event: print(event.kind, event.graph or event.record),
                    progress=lambda done, total: print(f"read: {done} of {total} bytes"))

# Loads several files in the background. A missing file does not stop the others.
loads = fatctx.load_all([path, path + ".missing", path], threads=1,
                             on_done=lambda index, loaded, error: print("item", index, error or "loaded"))
loads.wait()
create_context(loads.result(2).binary())
