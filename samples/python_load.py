"""From a file to the context binary for this device, in four ways: python_load.py model.fatctx"""
import sys
import threading

import fatctx

path = sys.argv[1]


def create_context(binary):
    """Stands for a backend's call: a pointer and a size, valid as long as the object."""
    print(f"{binary.nbytes} bytes at {binary.address:#x}")


# Waits until the load has finished.
loaded = fatctx.load(path)
create_context(loaded.binary())
print(loaded.model.explain())

# Gives up after ten seconds, or when another thread says so.
signal = fatctx.LoadSignal(timeout=10)
user = threading.Thread(target=signal.cancel)  # stands for a user who presses a button
user.start()
user.join()
try:
    fatctx.load(path, signal=signal)
except fatctx.Cancelled as error:
    print("cancelled:", error)
signal.reset()
create_context(fatctx.load(path, signal=signal).binary())

# Is called for each graph, for the context, and for the bytes that are read.
fatctx.load(path, notify=lambda event: print(event.kind, event.graph or event.record),
                    progress=lambda done, total: print(f"read: {done} of {total} bytes"))

# Several files in the background. One that is missing does not stop the others.
loads = fatctx.load_all([path, path + ".missing", path], threads=1,
                             on_done=lambda index, loaded, error: print("item", index, error or "loaded"))
loads.wait()
create_context(loads.result(2).binary())
