package dev.fatctx;

/** A code of the library. The list is open: a newer library may have other codes, which are {@link #UNKNOWN} here. */
public enum ErrorCode {
    IO(1),
    NOT_FOUND(2),
    INVALID_ARGUMENT(3),
    TRUNCATED(4),
    TRAILING_DATA(5),
    BAD_MAGIC(6),
    UNSUPPORTED(7),
    MALFORMED(8),
    CHECKSUM_MISMATCH(9),
    LIMIT_EXCEEDED(10),
    BAD_REFERENCE(11),
    NO_MATCH(12),
    CODEC(13),
    SIGNATURE_MISSING(14),
    SIGNATURE_BAD(15),
    ROLLBACK(16),
    NOT_REGULAR_FILE(17),
    CHANGED(18),
    MAPPING_LOST(19),
    REMOTE_FILESYSTEM(20),
    LOCKED(21),
    EXISTS(22),
    COMMIT_UNKNOWN(23),
    NO_SPACE(24),
    NO_RESOURCE(25),
    STALE_HANDLE(26),
    CANCELLED(27),
    OUT_OF_MEMORY(28),
    INTERNAL(29),
    OPERATION_NOT_PERMITTED(30),
    SERIALISE_FAILED(31),
    BACKEND_LIBRARY_MISSING(32),
    BACKEND_RESTARTED(33),
    TIMED_OUT(34),
    INVALID_CONFIG(35),
    COPY_NOT_ALLOWED(36),
    NOT_PRESENT(37),
    UNKNOWN(0);

    private final int number;

    ErrorCode(int number) {
        this.number = number;
    }

    static ErrorCode of(int number) {
        for (ErrorCode code : values()) {
            if (code.number == number) return code;
        }
        return UNKNOWN;
    }

    /** Returns the number of the C interface; 0 for {@link #UNKNOWN}. */
    public int number() {
        return number;
    }

    /** Returns the word of the documentation: "checksum_mismatch". */
    public String word() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
