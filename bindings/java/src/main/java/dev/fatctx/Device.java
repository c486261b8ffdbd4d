package dev.fatctx;

/** A machine, as it was detected or described. */
public final class Device implements AutoCloseable {
    final Handle handle;

    private Device(long id) {
        handle = new Handle("device", id, Native::closeDevice);
    }

    /** Asks this machine. An unknown machine is a device whose facts are empty, and not an error. */
    public static Device detect() {
        return new Device(Native.detectDevice());
    }

    /** Reads a device that is given by hand: "x86-64-v3", "v75", "SM8750". */
    public static Device parse(String text) {
        return new Device(Native.parseDevice(Texts.required(text, "text")));
    }

    /** Returns the NPU of a detected device, which elsewhere is its processor. */
    public Device npu() {
        long id = handle.enter();
        try {
            return new Device(Native.npuOf(id));
        } finally {
            handle.leave();
        }
    }

    /** Closes the device. Models that were chosen for it do not need it any more. */
    @Override
    public void close() {
        handle.close();
    }
}
