package dev.fatctx;

/** Options of a choice. A new object has the defaults: this machine, the only group. */
public final class SelectOptions {
    /** A call that needs the options in the form of the native library. */
    interface Call<T> {
        T with(long[] numbers, byte[][] texts);
    }

    private Device device;
    private String group;
    private String record;
    private String maxSdk;
    private boolean force;
    private boolean strict;
    private boolean allowLowerArch;
    private boolean refuseGeneric;
    private boolean mixTargets;
    private boolean skipDamaged;

    /** Sets the device; null is this machine. */
    public SelectOptions device(Device value) {
        device = value;
        return this;
    }

    /** Sets the graph group; null is the only one. */
    public SelectOptions group(String value) {
        group = value;
        return this;
    }

    /** Takes this context binary, if it fits; null is the best one. */
    public SelectOptions record(String name) {
        record = name;
        return this;
    }

    /** With a record: skips the comparison with the device. */
    public SelectOptions force(boolean value) {
        force = value;
        return this;
    }

    /** Accepts only records that fully use the device. */
    public SelectOptions strict(boolean value) {
        strict = value;
        return this;
    }

    /** Accepts records for a lower Hexagon arch. */
    public SelectOptions allowLowerArch(boolean value) {
        allowLowerArch = value;
        return this;
    }

    /** Refuses generic records as a fallback. */
    public SelectOptions refuseGeneric(boolean value) {
        refuseGeneric = value;
        return this;
    }

    /** Accepts units of different targets, if no target has all of them. */
    public SelectOptions mixTargets(boolean value) {
        mixTargets = value;
        return this;
    }

    /** Takes the best target of which every record is whole. Reads and checks the records of a session. */
    public SelectOptions skipDamaged(boolean value) {
        skipDamaged = value;
        return this;
    }

    /** Refuses records of a newer SDK, "2.50"; null is no limit. */
    public SelectOptions maxSdk(String version) {
        maxSdk = version;
        return this;
    }

    <T> T during(Call<T> call) {
        // The library takes a device of 0 for this machine, so a closed device is refused here.
        Handle held = device == null ? null : device.handle;
        long id = held == null ? 0 : held.enter();
        try {
            return call.with(
                    new long[] {
                        id,
                        force ? 1 : 0,
                        strict ? 1 : 0,
                        allowLowerArch ? 1 : 0,
                        refuseGeneric ? 1 : 0,
                        mixTargets ? 1 : 0,
                        skipDamaged ? 1 : 0
                    },
                    new byte[][] {Texts.utf8(group), Texts.utf8(record), Texts.utf8(maxSdk)});
        } finally {
            if (held != null) held.leave();
        }
    }
}
