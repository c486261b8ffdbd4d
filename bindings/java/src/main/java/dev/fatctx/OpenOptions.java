package dev.fatctx;

/** Options of an open. A new object has the defaults. */
public final class OpenOptions {
    private Verify verify = Verify.ON_ACQUIRE;
    private boolean refuseSymlinks;
    private boolean requireLocal;
    private boolean neverCopy;
    private boolean strict;
    private long maxCopiedBytes;
    private long minimumGeneration;
    private long generation;
    private long maxMadeBytes;
    private PublicKey[] trustedKeys = {};

    /** Sets the point in time at which payload is checked; {@link Verify#ON_ACQUIRE}. */
    public OpenOptions verify(Verify value) {
        if (value == null) throw new NullPointerException("verify");
        verify = value;
        return this;
    }

    /** Refuses a path that is a symbolic link. */
    public OpenOptions refuseSymlinks(boolean value) {
        refuseSymlinks = value;
        return this;
    }

    /** Refuses network and FUSE file systems. */
    public OpenOptions requireLocal(boolean value) {
        requireLocal = value;
        return this;
    }

    /** Fails where the file cannot be mapped, instead of copying. */
    public OpenOptions neverCopy(boolean value) {
        neverCopy = value;
        return this;
    }

    /** Checks the whole table of contents at the open, also a large one. */
    public OpenOptions strict(boolean value) {
        strict = value;
        return this;
    }

    /** Sets the memory that composed views may take together; 0. */
    public OpenOptions maxCopiedBytes(long value) {
        maxCopiedBytes = notNegative(value, "maxCopiedBytes");
        return this;
    }

    /** Refuses an older container; 0. */
    public OpenOptions minimumGeneration(long value) {
        minimumGeneration = notNegative(value, "minimumGeneration");
        return this;
    }

    /** Opens an earlier state of a container that was appended to; 0 is the newest. */
    public OpenOptions generation(long value) {
        generation = notNegative(value, "generation");
        return this;
    }

    /** Sets the most bytes that one call may make out of the stored bytes; 0 is the library's default. */
    public OpenOptions maxMadeBytes(long value) {
        maxMadeBytes = notNegative(value, "maxMadeBytes");
        return this;
    }

    /** Names keys of which one must have signed the container. None: signatures are not required. */
    public OpenOptions trustedKeys(PublicKey... keys) {
        for (PublicKey key : keys) {
            if (key == null) throw new NullPointerException("trustedKeys");
        }
        trustedKeys = keys.clone();
        return this;
    }

    private static long notNegative(long value, String name) {
        if (value >= 0) return value;
        throw FatctxException.refusal(ErrorCode.INVALID_ARGUMENT, name + " is " + value + "; it cannot be negative");
    }

    /** Returns the numbers in the order in which the native library takes them. */
    long[] numbers() {
        return new long[] {
            verify.number,
            refuseSymlinks ? 1 : 0,
            requireLocal ? 1 : 0,
            neverCopy ? 1 : 0,
            strict ? 1 : 0,
            maxCopiedBytes,
            minimumGeneration,
            generation,
            maxMadeBytes
        };
    }

    byte[] keys() {
        return PublicKey.joined(trustedKeys);
    }
}
