package dev.fatctx;

/** Facts and settings of the library in this process. */
public final class Fatctx {
    private Fatctx() {}

    /** Returns the version of the library: "0.1.0". */
    public static String libraryVersion() {
        return Texts.of(Native.libraryVersion());
    }

    /** Returns the version of the format that the library writes: "1.0". */
    public static String formatVersion() {
        return Texts.of(Native.formatVersion());
    }

    /**
     * Lets bytes of a file that was truncated while it was mapped read as zeros, instead of ending the process.
     *
     * <p>{@link Container#check()} and {@link Session#end()} then throw {@link ChangedException}. Holds for the whole
     * process and for ever. Other faults go to the handler that was there before.
     */
    public static void installMappingGuard() {
        Native.installMappingGuard();
    }
}
